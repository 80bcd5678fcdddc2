"""Forget what ended long ago."""

from control.operations.plane import Plane
from control.store.celery_revokes import forget_revokes
from control.store.database import retried_on_deadlock
from control.store.tasks import delete_tasks, ended_tasks


@retried_on_deadlock
def purge(plane: Plane) -> int:
    """Delete ended tasks past their retention, with their trail and artifacts. A task that runs is never touched.

    Forgets revokes of tasks that never came, too.
    """
    with plane.database.transaction() as tx:
        task_ids = ended_tasks(tx, older_than_days=plane.timing.retention_days)
        artifact_ids = delete_tasks(tx, task_ids) if task_ids else []
        forget_revokes(tx)
    for artifact_id in artifact_ids:
        plane.artifacts.delete(artifact_id)
    return len(task_ids)
