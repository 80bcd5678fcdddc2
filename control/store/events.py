"""The audit trail: what happened to a task, written in the transaction in which it happened."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.json_text import as_json
from corral.contract.history import TaskEventKind


@dataclass(frozen=True, slots=True)
class Event:
    """One fact about a task."""

    kind: TaskEventKind
    task_id: UUID
    attempt: int
    details: dict[str, Any] = field(default_factory=dict[str, Any])


#: The last event of a task is one of these.
END_KINDS = (TaskEventKind.DONE, TaskEventKind.FAILED, TaskEventKind.CANCELLED)
#: The same as a condition, on events that are called `event`.
IS_AN_END = f"event.kind IN {tuple(kind.value for kind in END_KINDS)}"

#: The events that the receipt of a cancel is made of: the request, its way to the host, and the end of the task.
RECEIPT_KINDS = (
    TaskEventKind.CANCEL_REQUESTED,
    TaskEventKind.CANCEL_DELIVERED,
    TaskEventKind.CANCEL_SEEN,
    *END_KINDS,
)


def record_events(tx: Transaction, events: Sequence[Event], *, actor: str) -> None:
    """Write facts down, in their order. A fact about a cancel that is known already is not written again."""
    if not events:
        return
    tx.run(
        """
        INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
        SELECT task_id, corral_now(), kind, attempt, :actor, details
        FROM unnest(CAST(:task_ids AS uuid[]), CAST(:kinds AS text[]), CAST(:attempts AS integer[]),
                    CAST(:details AS jsonb[])) WITH ORDINALITY AS event (task_id, kind, attempt, details, position)
        -- Always so, and looked at before the first id is taken: the feed of all events misses none only where a
        -- transaction has its number before its events have theirs, and this may be the first that this one writes.
        WHERE pg_current_xact_id() IS NOT NULL
        ORDER BY position
        ON CONFLICT (task_id, kind)
            WHERE kind IN ('task.cancel_requested', 'task.cancel_delivered', 'task.cancel_seen') DO NOTHING
        """,
        task_ids=[event.task_id for event in events],
        kinds=[event.kind.value for event in events],
        attempts=[event.attempt for event in events],
        actor=actor,
        details=[as_json(event.details) for event in events],
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
        kinds=list(RECEIPT_KINDS),
    )
    return {TaskEventKind(row["kind"]): row for row in rows}
