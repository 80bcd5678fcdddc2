"""Find out what the senders of tasks, who are clients of Celery, are to be told of them.

Whoever calls tells the result backend by the functions that are handed in here, within the transaction: so two that
tell of one task never overtake each other, and what was not told stays due. It may be told twice, after a crash.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from control.operations.plane import Plane
from control.store import celery_requests
from corral.contract.task_status import TaskStatus


@dataclass(frozen=True, slots=True)
class Ending:
    """How a task has ended, for whoever sent it."""

    request: Mapping[str, Any]
    status: TaskStatus
    result: Mapping[str, Any] | None
    failure_reason: str | None
    cancelled_by: str | None
    cancel_reason: str | None


#: A state of Celery's or of ours, and what goes with it.
Told = Mapping[str, Any]
QUEUED: Told = {"state": "QUEUED", "meta": {"attempt": 0}}


def lately_ended_requests(plane: Plane, *, limit: int) -> list[UUID]:
    """Tasks that have ended just now without their sender having been told; it may miss some."""
    with plane.database.statement() as tx:
        return celery_requests.lately_ended_requests(tx, limit=limit)


def ended_requests(plane: Plane, *, limit: int) -> list[UUID]:
    """Tasks that have ended without their sender having been told."""
    with plane.database.statement() as tx:
        return celery_requests.ended_requests(tx, limit=limit)


def settle_request(plane: Plane, task_id: UUID, *, tell: Callable[[Ending], Told]) -> bool:
    """Tell the sender of a task how it ended; False where somebody else does, or has."""
    with plane.database.transaction() as tx:
        row = celery_requests.lock_ended_request(tx, task_id)
        if row is None:
            return False
        facts: dict[str, Any] = {**row, "status": TaskStatus(row["status"])}
        told = tell(Ending(**facts))
        celery_requests.settle_request(tx, task_id, published=told)
    return True


def tell_changes(plane: Plane, *, tell: Callable[[Mapping[str, Any], Told], None], limit: int) -> int:
    """Tell the senders of running and requeued tasks how they are doing, where they do not know it yet."""
    with plane.database.transaction() as tx:
        changed = celery_requests.lock_changed_requests(tx, limit=limit)
        for row in changed:
            tell(row["request"], row["told"])
        if changed:
            celery_requests.note_published(tx, {row["task_id"]: row["told"] for row in changed})
    return len(changed)
