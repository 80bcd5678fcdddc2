"""Device tasks as tasks of Celery: how they are called, and what is shown as their arguments."""

from typing import Any

from control.operations.fleet_workers import WorkerTask
from control.store.event_feed import FeedEvent
from corral.contract.tasks import TaskKind


def task_name(kind: TaskKind) -> str:
    """The name of device tasks among Celery's tasks."""
    return f"corral.{kind.value}"


def shown_arguments(task: FeedEvent | WorkerTask) -> dict[str, Any]:
    """What describes the task. What it runs with stays out: a flow types passwords."""
    device = {"serial": task.serial} if task.serial else {}
    return {
        "name": task.task_name,
        "kind": task.task_kind.value if task.task_kind else None,
        "labels": dict(task.labels or {}),
        "created_by": task.created_by,
        **device,
    }
