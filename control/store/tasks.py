"""Tasks: put in, read, listed and purged. Their status is written in `control.store.transitions` alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.events import RECEIPT_KINDS
from control.store.json_text import as_json
from control.store.transitions import SWEEP_ROWS
from corral.contract.history import TaskEventKind
from corral.contract.tasks import TaskSubmission

#: A running task's progress is on its lease, where renewals put it; an ended one's is with the task.
_VIEW = """
    task.task_id, task.kind, task.name, task.status, task.cancel_requested_at, task.cancel_reason, task.priority,
    task.labels, task.batch_id, task.created_at, task.created_by, task.started_at, task.finished_at, task.attempt,
    task.max_attempts, task.host_id, task.device_id, task.failure_reason,
    coalesce(lease.progress, task.progress) AS progress
"""
_DETAIL = f"""
    {_VIEW}, task.requires, task.timeout_seconds, task.queue_timeout_seconds, task.flow, task.goal, task.verify,
    task.agent, task.files, task.result
"""
_FROM = "FROM scheduled_tasks AS task LEFT JOIN leases AS lease USING (task_id)"


@dataclass(frozen=True, slots=True)
class Once:
    """What makes a submit one that is taken in once: the caller's key, and the hash of what came under it."""

    key_id: str
    key: str
    request_hash: bytes


_TAKE_KEY = """
    idempotency AS (
        INSERT INTO idempotency_keys (key_id, idempotency_key, request_hash, task_id, created_at)
        VALUES (:key_id, :key, :request_hash, :task_id, corral_now()) ON CONFLICT DO NOTHING RETURNING task_id
    ),
"""


def insert_task(
    tx: Transaction, task_id: UUID, submission: TaskSubmission, *, requirement_class: str, actor: str, once: Once | None
) -> datetime | None:
    """A task begins its life, queued, with the event that says so; None where its key has been taken before."""
    row = tx.row(
        f"""
        WITH {_TAKE_KEY if once else ""} task AS (
            INSERT INTO scheduled_tasks (
                task_id, kind, name, status, priority, labels, requires, requirement_class, batch_id, flow, goal,
                verify, agent, files, env, max_attempts, attempt, timeout_seconds, queue_timeout_seconds, created_at,
                created_by, queued_at
            )
            SELECT :task_id, :kind, :name, 'queued', :priority, CAST(:labels AS jsonb), CAST(:requires AS jsonb),
                   :requirement_class, :batch_id, :flow, :goal, :verify, CAST(:agent AS jsonb), CAST(:files AS jsonb),
                   CAST(:env AS jsonb), :max_attempts, 0, CAST(:timeout_seconds AS integer),
                   CAST(:queue_timeout_seconds AS integer), corral_now(), :created_by, corral_now()
            {"FROM idempotency" if once else ""} RETURNING task_id, created_at, created_by
        )
        INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
        SELECT task_id, created_at, '{TaskEventKind.QUEUED}', 0, created_by, '{{}}' FROM task RETURNING at
        """,
        task_id=task_id,
        kind=submission.kind.value,
        name=submission.name,
        priority=submission.priority,
        labels=as_json(submission.labels),
        requires=as_json([requirement.model_dump(mode="json") for requirement in submission.requires]),
        requirement_class=requirement_class,
        batch_id=submission.batch_id,
        flow=submission.flow,
        goal=submission.goal,
        verify=submission.verify,
        agent=as_json(submission.agent.model_dump(mode="json") if submission.agent else None),
        files=as_json(submission.files),
        env=as_json(submission.env),
        max_attempts=submission.max_attempts,
        timeout_seconds=submission.timeout_seconds,
        queue_timeout_seconds=submission.queue_timeout_seconds,
        created_by=actor,
        **({"key_id": once.key_id, "key": once.key, "request_hash": once.request_hash} if once else {}),
    )
    return row["at"] if row else None


def shown_task(tx: Transaction, task_id: UUID) -> RowMapping | None:
    """Everything about one task and, as a list in `facts`, the events that the receipt of its cancel is made of."""
    return tx.row(
        f"""
        SELECT {_DETAIL}, (
            SELECT jsonb_agg(jsonb_build_object('at', at, 'kind', kind, 'actor', actor, 'details', details)
                             ORDER BY event_id)
            FROM task_events AS event WHERE event.task_id = task.task_id AND event.kind = ANY(:receipt_kinds)
        ) AS facts {_FROM} WHERE task.task_id = :task_id
        """,
        task_id=task_id,
        receipt_kinds=list(RECEIPT_KINDS),
    )


def task_detail(tx: Transaction, task_id: UUID) -> RowMapping | None:
    """Everything about one task."""
    return tx.row(f"SELECT {_DETAIL} {_FROM} WHERE task.task_id = :task_id", task_id=task_id)


def task_exists(tx: Transaction, task_id: UUID) -> bool:
    return tx.row("SELECT 1 FROM scheduled_tasks WHERE task_id = :task_id", task_id=task_id) is not None


class Place(NamedTuple):
    """Where a task stands in a list."""

    created_at: datetime
    task_id: UUID


def list_tasks(
    tx: Transaction, conditions: Sequence[str], parameters: Mapping[str, Any], *, before: Place | None, limit: int
) -> Sequence[RowMapping]:
    """Tasks that meet all conditions (fragments of `TASK_CONDITIONS`), from the youngest to the oldest."""
    every = [*conditions, *(["(task.created_at, task.task_id) < (:created_at, :task_id)"] if before else [])]
    where = f"WHERE {' AND '.join(every)}" if every else ""
    return tx.rows(
        f"SELECT {_VIEW} {_FROM} {where} ORDER BY task.created_at DESC, task.task_id DESC LIMIT :limit",
        **parameters,
        **(before._asdict() if before else {}),
        limit=limit,
    )


#: What a list can be narrowed by; the values are parameters of the same name.
TASK_CONDITIONS = {
    "status": "task.status = :status",
    "statuses": "task.status = ANY(:statuses)",
    "is_cancelling": "(task.cancel_requested_at IS NOT NULL) = :is_cancelling",
    "labels": "task.labels @> CAST(:labels AS jsonb)",
    "host_id": "task.host_id = :host_id",
    "device_id": "task.device_id = :device_id",
    "batch_id": "task.batch_id = :batch_id",
}


def untold_cancels(tx: Transaction) -> Sequence[RowMapping]:
    """Leases whose task is to be stopped and whose holder has not heard of it; the oldest first, some at a time."""
    return tx.rows(
        f"""
        SELECT task.host_id, task.lease_id FROM scheduled_tasks AS task
        WHERE task.cancel_requested_at IS NOT NULL AND task.status = 'dispatched' AND NOT EXISTS (
            SELECT 1 FROM task_events AS event
            WHERE event.task_id = task.task_id AND event.kind = 'task.cancel_delivered')
        ORDER BY task.task_id LIMIT {SWEEP_ROWS}
        """
    )


def find_idempotency_key(tx: Transaction, *, key_id: str, key: str) -> RowMapping | None:
    """The request that came under this key before. Its task cannot be purged within this transaction."""
    return tx.row(
        """
        SELECT request_hash, task_id FROM idempotency_keys
        WHERE key_id = :key_id AND idempotency_key = :key FOR KEY SHARE
        """,
        key_id=key_id,
        key=key,
    )


def ended_tasks(tx: Transaction, *, older_than_days: float) -> list[UUID]:
    """Tasks that ended longer ago than that, locked; the oldest first, some at a time."""
    rows = tx.rows(
        f"""
        SELECT task_id FROM scheduled_tasks
        WHERE status IN ('done', 'failed', 'cancelled')
            AND finished_at < corral_now() - make_interval(secs => :seconds)
            -- What ended before then was made before then, and that has an index.
            AND created_at < corral_now() - make_interval(secs => :seconds)
        ORDER BY created_at LIMIT {SWEEP_ROWS} FOR UPDATE SKIP LOCKED
        """,
        seconds=older_than_days * 86_400,
    )
    return [row["task_id"] for row in rows]


def delete_tasks(tx: Transaction, task_ids: Sequence[UUID]) -> list[UUID]:
    """Delete ended tasks with all that belongs to them; answers the artifacts whose bytes are to go."""
    rows = tx.rows("DELETE FROM artifacts WHERE task_id = ANY(:ids) RETURNING artifact_id", ids=list(task_ids))
    for table in ("task_events", "task_attempts", "idempotency_keys", "celery_requests", "scheduled_tasks"):
        tx.run(f"DELETE FROM {table} WHERE task_id = ANY(:ids)", ids=list(task_ids))
    return [row["artifact_id"] for row in rows]
