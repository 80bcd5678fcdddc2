"""Order the queue and the lists by the age of tasks, which is no longer in their ids: Celery's are random.

May run while the system does: each index is built while others read and write, which takes about a second for each
hundred thousand tasks. Processes of the version before are right all the same; they sort what they found in order.

Revision ID: 0009
Revises: 0008
"""

from collections.abc import Mapping

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BY_AGE = {
    "ix_scheduled_tasks_queue_order": "(requirement_class, priority DESC, created_at, task_id) WHERE status = 'queued'",
    "ix_scheduled_tasks_age": "(created_at)",
    "ix_scheduled_tasks_status_age": "(status, created_at)",
    "ix_scheduled_tasks_batch_age": "(batch_id, created_at) WHERE batch_id IS NOT NULL",
    "ix_scheduled_tasks_host_age": "(host_id, created_at) WHERE host_id IS NOT NULL",
    "ix_scheduled_tasks_device_age": "(device_id, created_at) WHERE device_id IS NOT NULL",
}
BY_ID = {
    "ix_scheduled_tasks_queue": "(requirement_class, priority DESC, task_id) WHERE status = 'queued'",
    "ix_scheduled_tasks_status": "(status, task_id)",
    "ix_scheduled_tasks_batch": "(batch_id, task_id) WHERE batch_id IS NOT NULL",
    "ix_scheduled_tasks_host": "(host_id, task_id) WHERE host_id IS NOT NULL",
    "ix_scheduled_tasks_device": "(device_id, task_id) WHERE device_id IS NOT NULL",
}


def upgrade() -> None:
    _replace(BY_ID, BY_AGE)


def downgrade() -> None:
    _replace(BY_AGE, BY_ID)


def _replace(present: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    with op.get_context().autocommit_block():
        for name, columns in wanted.items():
            # An attempt that was broken off leaves an index that Postgres keeps up and never uses.
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.execute(f"CREATE INDEX CONCURRENTLY {name} ON scheduled_tasks {columns}")
        for name in present:
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
