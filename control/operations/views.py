"""Rows made into contract models, inside the transaction that read them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.events import cancellation_facts
from corral.contract.cancellation import CancellationOutcome, CancellationReceipt
from corral.contract.history import TaskEventKind
from corral.contract.tasks import TaskView


def task_view(row: RowMapping) -> TaskView:
    return TaskView.model_validate({**row, "is_cancelling": row["cancel_requested_at"] is not None})


def receipt(tx: Transaction, task_id: UUID) -> CancellationReceipt | None:
    """The story of the task's cancel request, from the audit trail; None where nobody asked."""
    return receipt_of(cancellation_facts(tx, task_id))


def receipt_of(facts: Mapping[TaskEventKind, Mapping[Any, Any]]) -> CancellationReceipt | None:
    """The same from events that were read already, by their kind."""
    asked = facts.get(TaskEventKind.CANCEL_REQUESTED)
    if asked is None:
        return None
    cancelled = facts.get(TaskEventKind.CANCELLED)
    ended = cancelled or facts.get(TaskEventKind.DONE) or facts.get(TaskEventKind.FAILED)
    how: dict[str, Any] = cancelled["details"] if cancelled else {}
    return CancellationReceipt(
        requested_at=asked["at"],
        requested_by=asked["actor"],
        reason=asked["details"].get("reason"),
        delivered_at=_at(facts.get(TaskEventKind.CANCEL_DELIVERED)),
        seen_at=_at(facts.get(TaskEventKind.CANCEL_SEEN)),
        finished_at=_at(ended),
        outcome=_outcome(is_cancelled=cancelled is not None, is_ended=ended is not None),
        stopped_by=how.get("stopped_by"),
        confirmed=how.get("confirmed"),
    )


def _outcome(*, is_cancelled: bool, is_ended: bool) -> CancellationOutcome:
    if is_cancelled:
        return CancellationOutcome.CANCELLED
    return CancellationOutcome.TOO_LATE if is_ended else CancellationOutcome.PENDING


def _at(row: Mapping[Any, Any] | None) -> Any:
    return row["at"] if row else None
