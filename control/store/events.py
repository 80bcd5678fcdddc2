"""The audit trail: what happened to a task, written in the transaction in which it happened."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from corral.contract.history import TaskEventKind


def record_event(
    tx: Transaction,
    kind: TaskEventKind,
    *,
    task_id: UUID,
    attempt: int,
    actor: str,
    details: dict[str, Any] | None = None,
) -> None:
    """Write down one fact. A fact about a cancel that is known already is not written again."""
    tx.run(
        """
        INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
        VALUES (:task_id, corral_now(), :kind, :attempt, :actor, CAST(:details AS jsonb))
        ON CONFLICT (task_id, kind)
            WHERE kind IN ('task.cancel_requested', 'task.cancel_delivered', 'task.cancel_seen') DO NOTHING
        """,
        task_id=task_id,
        kind=kind,
        attempt=attempt,
        actor=actor,
        details=json.dumps(details or {}),
    )


def events_of(tx: Transaction, task_id: UUID, *, after: int, limit: int) -> Sequence[RowMapping]:
    """What happened to a task after the event `after`, in order."""
    return tx.rows(
        """
        SELECT event_id, at, kind, attempt, actor, details FROM task_events
        WHERE task_id = :task_id AND event_id > :after ORDER BY event_id LIMIT :limit
        """,
        task_id=task_id,
        after=after,
        limit=limit,
    )


def cancellation_facts(tx: Transaction, task_id: UUID) -> dict[TaskEventKind, RowMapping]:
    """The events that a receipt is made of, by kind: the request, its way to the host, and the end of the task."""
    rows = tx.rows(
        """
        SELECT at, kind, actor, details FROM task_events
        WHERE task_id = :task_id AND kind = ANY(:kinds) ORDER BY event_id
        """,
        task_id=task_id,
        kinds=list(_RECEIPT_KINDS),
    )
    return {TaskEventKind(row["kind"]): row for row in rows}


_RECEIPT_KINDS = (
    TaskEventKind.CANCEL_REQUESTED,
    TaskEventKind.CANCEL_DELIVERED,
    TaskEventKind.CANCEL_SEEN,
    TaskEventKind.DONE,
    TaskEventKind.FAILED,
    TaskEventKind.CANCELLED,
)
