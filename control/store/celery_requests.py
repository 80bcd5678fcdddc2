"""What Celery clients sent, until its end is with them: which of it is due to be told, and what was told last."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.events import IS_AN_END
from control.store.json_text import as_json

#: As far back as quick looks go, which are a fraction of a second apart; reading that many takes a millisecond or two.
LATEST_EVENTS = 300

_ENDED = "task.status IN ('done', 'failed', 'cancelled')"

#: What a client sees of a task that runs: with a lease, so there are as many as busy devices.
_RUNNING = """
    SELECT lease.task_id, jsonb_build_object('state', 'STARTED', 'meta', jsonb_build_object(
        'host', host.name, 'device', device.serial, 'attempt', lease.attempt,
        'is_cancelling', task.cancel_requested_at IS NOT NULL,
        'progress', CASE WHEN lease.progress IS NOT NULL THEN jsonb_build_object(
            'step', lease.progress -> 'step', 'steps_total', lease.progress -> 'steps_total',
            'text', lease.progress -> 'text') END
    )) AS told
    FROM leases AS lease
    JOIN scheduled_tasks AS task ON task.task_id = lease.task_id AND task.status = 'dispatched'
    JOIN hosts AS host ON host.host_id = lease.host_id
    JOIN devices AS device ON device.device_id = lease.device_id
"""
#: And of one that has come back to the queue.
_WAITING_AGAIN = """
    SELECT task.task_id, jsonb_build_object('state', 'QUEUED', 'meta', jsonb_build_object('attempt', task.attempt))
    FROM celery_requests AS request JOIN scheduled_tasks AS task USING (task_id)
    WHERE NOT request.is_settled AND request.published ->> 'state' = 'STARTED'
        AND task.status IN ('queued', 'assigned')
"""


def keep_request(
    tx: Transaction,
    task_id: UUID,
    request: Mapping[str, Any],
    *,
    expires_at: datetime | None,
    published: Mapping[str, Any],
) -> bool:
    """Remember how the task is to be answered; whether it has expired already."""
    is_expired: bool | None = tx.value(
        """
        INSERT INTO celery_requests (task_id, request, expires_at, published, is_settled)
        VALUES (:task_id, CAST(:request AS jsonb), CAST(:expires_at AS timestamptz), CAST(:published AS jsonb), false)
        RETURNING expires_at <= corral_now()
        """,
        task_id=task_id,
        request=as_json(request),
        expires_at=expires_at,
        published=as_json(published),
    )
    return bool(is_expired)


def request_exists(tx: Transaction, task_id: UUID) -> bool:
    return tx.row("SELECT 1 FROM celery_requests WHERE task_id = :task_id", task_id=task_id) is not None


def lately_ended_requests(tx: Transaction, *, limit: int) -> list[UUID]:
    """Those of the next function whose end is one of the latest events; costs the same however many are open."""
    rows = tx.rows(
        f"""
        SELECT request.task_id
        FROM (SELECT task_id, kind FROM task_events ORDER BY event_id DESC LIMIT {LATEST_EVENTS}) AS event
        JOIN celery_requests AS request USING (task_id)
        WHERE NOT request.is_settled AND {IS_AN_END} LIMIT :limit
        """,
        limit=limit,
    )
    return [row["task_id"] for row in rows]


def ended_requests(tx: Transaction, *, limit: int) -> list[UUID]:
    """Tasks that have ended and whose sender has not been told, some at a time."""
    rows = tx.rows(
        f"""
        SELECT request.task_id FROM celery_requests AS request JOIN scheduled_tasks AS task USING (task_id)
        WHERE NOT request.is_settled AND {_ENDED} ORDER BY request.task_id LIMIT :limit
        """,
        limit=limit,
    )
    return [row["task_id"] for row in rows]


def lock_ended_request(tx: Transaction, task_id: UUID) -> RowMapping | None:
    """How a task has ended, who had asked for its cancel, and how it is to be answered.

    None where somebody else is telling of it, or has.
    """
    return tx.row(
        f"""
        SELECT request.request, task.status, task.result, task.failure_reason, asked.actor AS cancelled_by,
               asked.details ->> 'reason' AS cancel_reason
        FROM celery_requests AS request JOIN scheduled_tasks AS task USING (task_id)
        LEFT JOIN task_events AS asked ON asked.task_id = task.task_id AND asked.kind = 'task.cancel_requested'
        WHERE request.task_id = :task_id AND NOT request.is_settled AND {_ENDED}
        FOR UPDATE OF request SKIP LOCKED
        """,
        task_id=task_id,
    )


def settle_request(tx: Transaction, task_id: UUID, *, published: Mapping[str, Any]) -> None:
    """Its sender has been told of the end. What the message carried on for others is dropped: it may be secret."""
    tx.run(
        """
        UPDATE celery_requests SET is_settled = true, request = '{}', published = CAST(:published AS jsonb)
        WHERE task_id = :task_id
        """,
        task_id=task_id,
        published=as_json(published),
    )


def lock_changed_requests(tx: Transaction, *, limit: int) -> Sequence[RowMapping]:
    """Tasks that have not ended, and of which something else is to be told than was: `request` and `told`."""
    return tx.rows(
        f"""
        WITH current AS ({_RUNNING} UNION ALL {_WAITING_AGAIN})
        SELECT request.task_id, request.request, current.told
        FROM current JOIN celery_requests AS request ON request.task_id = current.task_id
        WHERE NOT request.is_settled AND request.published IS DISTINCT FROM current.told
        ORDER BY request.task_id LIMIT :limit FOR UPDATE OF request SKIP LOCKED
        """,
        limit=limit,
    )


def note_published(tx: Transaction, published: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Remember what was told of these tasks."""
    tx.run(
        """
        UPDATE celery_requests AS request SET published = news.told
        FROM unnest(CAST(:task_ids AS uuid[]), CAST(:told AS jsonb[])) AS news (task_id, told)
        WHERE request.task_id = news.task_id
        """,
        task_ids=list(published),
        told=[as_json(one) for one in published.values()],
    )
