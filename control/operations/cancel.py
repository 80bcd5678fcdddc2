"""Ask for a task to be stopped."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy import RowMapping

from control.metrics import CANCEL_HOP_SECONDS
from control.operations.plane import Job, Plane
from control.operations.views import receipt
from control.signals.words import LeaseOf
from control.store.database import Transaction
from control.store.tasks import task_detail
from control.store.transitions import request_cancel
from corral.contract.cancellation import TaskCancellationResponse
from corral.contract.task_status import TaskStatus
from corral.failpoints import failpoint


class CancellationRequestStatus(StrEnum):
    """What became of the request. `requested` also for a queued task, whose status is `cancelled` from then on."""

    REQUESTED = "requested"
    ALREADY_REQUESTED = "already_requested"
    ALREADY_TERMINAL = "already_terminal"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The answer to a request. `response` is missing where there is no such task, or it has ended by itself."""

    request_status: CancellationRequestStatus
    task_status: TaskStatus | None = None
    response: TaskCancellationResponse | None = None


def request_task_cancellation(plane: Plane, task_id: UUID, *, actor: str, reason: str | None) -> Cancellation:
    """Stop a task: at once where nothing runs, else its host is told until the task has ended.

    The request is durable when this returns. Asking again changes nothing and answers with the first request.
    """
    began_at = time.monotonic()
    with plane.database.transaction() as tx:
        changed = request_cancel(tx, task_id, actor=actor, reason=reason)
        if changed is None:
            return _answer_from_row(tx, task_id)
        status = TaskStatus(changed["status"])
        answer = Cancellation(CancellationRequestStatus.REQUESTED, status, _response(tx, task_id, status))
    pass_on(plane, [changed], began_at=began_at)
    return answer


def pass_on(plane: Plane, tasks: Sequence[RowMapping], *, began_at: float) -> None:
    """Tell whoever has to do with it. The requests are durable: what gets lost here costs time and nothing else."""
    for _ in tasks:
        CANCEL_HOP_SECONDS.labels("committed").observe(time.monotonic() - began_at)
    failpoint("cancel.committed")
    if any(task["status"] == TaskStatus.ASSIGNED for task in tasks):
        plane.doorbell.ring(Job.SETTLE_CANCELS)
    leases = [LeaseOf(task["host_id"], task["lease_id"]) for task in tasks if task["status"] == TaskStatus.DISPATCHED]
    if not leases:
        return
    if plane.wakeups.tell_cancels(leases):
        for _ in leases:
            CANCEL_HOP_SECONDS.labels("marked").observe(time.monotonic() - began_at)
    else:
        plane.doorbell.ring(Job.RECONCILE_CANCELS)


def _answer_from_row(tx: Transaction, task_id: UUID) -> Cancellation:
    row = task_detail(tx, task_id)
    if row is None:
        return Cancellation(CancellationRequestStatus.NOT_FOUND)
    status = TaskStatus(row["status"])
    if not status.is_terminal:
        return Cancellation(CancellationRequestStatus.ALREADY_REQUESTED, status, _response(tx, task_id, status))
    response = _response(tx, task_id, status) if status is TaskStatus.CANCELLED else None
    return Cancellation(CancellationRequestStatus.ALREADY_TERMINAL, status, response)


def _response(tx: Transaction, task_id: UUID, status: TaskStatus) -> TaskCancellationResponse:
    story = receipt(tx, task_id)
    assert story is not None  # noqa: S101 - the request is in the audit trail since this transaction or an earlier one
    return TaskCancellationResponse(
        task_id=task_id,
        status=status,
        cancel_requested_at=story.requested_at,
        cancel_reason=story.reason,
        cancellation=story,
    )
