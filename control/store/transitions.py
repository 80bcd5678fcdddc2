"""The one writer of `scheduled_tasks.status`.

Each function is one arrow, or one fork, of the drawing in `control.domain.task_state`: a single conditional statement
keyed by task, lease and status, and the event that tells of it. It answers with the rows that it changed; where that
is none, somebody else was first, and the caller reads the row and answers from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store import claims
from control.store.database import Transaction
from control.store.events import Event, record_events
from control.store.json_text import as_json
from corral.contract.cancellation import StoppedBy
from corral.contract.history import AttemptStatus, FailureCause, TaskEventKind
from corral.contract.task_status import TaskStatus

#: How many rows a sweep changes in one transaction: its locks stay short.
SWEEP_ROWS = 500

#: Every ended task: a pending cancel ends with it, and the audit trail keeps the request.
_ENDED = "finished_at = corral_now(), cancel_requested_at = NULL, cancel_reason = NULL"
_CHANGED = "RETURNING task.task_id, task.attempt, task.max_attempts, task.status, task.host_id"

#: The fork for a run that did not end by itself. A pending cancel decides first: the task must not come back to life.
_COMES_BACK = "task.cancel_requested_at IS NULL AND task.attempt < task.max_attempts"
_LEFT_THE_DEVICE = f"""
    status = CASE WHEN task.cancel_requested_at IS NOT NULL THEN 'cancelled'
                  WHEN {_COMES_BACK} THEN 'queued'
                  ELSE 'failed' END,
    queued_at = CASE WHEN {_COMES_BACK} THEN corral_now() ELSE task.queued_at END,
    failure_reason = CASE WHEN {_COMES_BACK} THEN task.failure_reason ELSE :reason END,
    finished_at = CASE WHEN {_COMES_BACK} THEN NULL ELSE corral_now() END,
    host_id = CASE WHEN {_COMES_BACK} THEN NULL ELSE task.host_id END,
    device_id = CASE WHEN {_COMES_BACK} THEN NULL ELSE task.device_id END,
    cancel_requested_at = NULL, cancel_reason = NULL, lease_id = NULL
"""

_DISPATCHED_EVENT = """
    SELECT task_id, corral_now(), 'task.dispatched', attempt, 'host:' || host_id,
           jsonb_build_object('host_id', host_id, 'device_id', device_id, 'lease_id', lease_id)
"""

#: What is told of a cancelled task that no host had begun.
_BEFORE_START: dict[str, Any] = {"stopped_by": StoppedBy.BEFORE_START, "confirmed": True}

#: Of a task that nobody began in the time that its sender gave it.
EXPIRED_REASON = "it had not begun when it expired"

_EVENT_OF = {
    TaskStatus.QUEUED: TaskEventKind.REQUEUED,
    TaskStatus.DONE: TaskEventKind.DONE,
    TaskStatus.FAILED: TaskEventKind.FAILED,
    TaskStatus.CANCELLED: TaskEventKind.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Booking:
    """A task and the device that it is given to."""

    task_id: UUID
    device_id: UUID


def assign(tx: Transaction, bookings: Sequence[Booking]) -> Sequence[RowMapping]:
    """queued → assigned, for each booking whose task is still queued."""
    if not bookings:
        return []
    return tx.rows(
        """
        WITH changed AS (
            UPDATE scheduled_tasks AS task
            SET status = 'assigned', host_id = device.host_id, device_id = device.device_id, assigned_at = corral_now()
            FROM unnest(CAST(:task_ids AS uuid[]), CAST(:device_ids AS uuid[])) AS booking (task_id, device_id)
            JOIN devices AS device USING (device_id)
            WHERE task.task_id = booking.task_id AND task.status = 'queued'
            RETURNING task.task_id, task.attempt, task.host_id, task.device_id
        ), told AS (
            INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
            SELECT task_id, corral_now(), 'task.assigned', attempt, 'scheduler',
                   jsonb_build_object('host_id', host_id, 'device_id', device_id)
            FROM changed
        )
        SELECT task_id, host_id FROM changed
        """,
        task_ids=[booking.task_id for booking in bookings],
        device_ids=[booking.device_id for booking in bookings],
    )


def dispatch(
    tx: Transaction,
    *,
    host_id: UUID,
    claim_id: UUID,
    incarnation: UUID,
    serials: Sequence[str],
    lease_ids: Sequence[UUID],
    lease_seconds: float,
) -> RowMapping | None:
    """assigned → dispatched, for the first tasks of the host on these devices, with their attempts and leases.

    At most one for each lease id, and none whose cancel is pending. `claimed` is what the host needs to run them, null
    where there is nothing; the rest says whether this claim was answered before (`is_repeated`), whether there was
    work, and which incarnation of the host is the current one. None: there is no such host.
    """
    return tx.row(
        f"""
        WITH {claims.LOOK_AND_LOCK_HOST}, candidate AS MATERIALIZED (
            {claims.CANDIDATES}
        ), chosen AS (
            SELECT task_id, serial, row_number() OVER (ORDER BY priority DESC, created_at, task_id) AS position
            FROM candidate JOIN devices USING (device_id)
        ), dispatched AS (
            UPDATE scheduled_tasks AS task
            SET status = 'dispatched', attempt = task.attempt + 1, started_at = corral_now(), progress = NULL,
                lease_id = (CAST(:lease_ids AS uuid[]))[chosen.position]
            FROM chosen
            WHERE task.task_id = ANY(ARRAY(SELECT task_id FROM chosen)) AND task.task_id = chosen.task_id
                AND task.status = 'assigned' AND task.cancel_requested_at IS NULL
            {claims.DISPATCHED}
        ), {claims.BEGIN_ATTEMPTS_AND_LEASES}, told AS (
            INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
            {_DISPATCHED_EVENT} FROM dispatched ORDER BY position
        )
        SELECT incarnation, is_repeated, to_claim <> '{{}}' AS has_work, ({claims.TO_RUN_AS_JSON}) AS claimed FROM look
        """,
        host_id=host_id,
        claim_id=claim_id,
        incarnation=incarnation,
        serials=list(serials),
        lease_ids=list(lease_ids),
        limit=len(lease_ids),
        lease_seconds=lease_seconds,
    )


def take_queued(
    tx: Transaction,
    *,
    device_id: UUID,
    requirement_classes: Sequence[str],
    claim_id: UUID,
    incarnation: UUID,
    lease_id: UUID,
    lease_seconds: float,
) -> list[dict[str, Any]]:
    """queued → assigned → dispatched in one go, for the first task of these classes: by priority, then by age.

    For a device that its host has just given back in this same transaction, so nobody else can have booked it. A task
    that somebody else is changing is passed over.
    """
    taken: list[dict[str, Any]] | None = tx.value(
        f"""
        WITH chosen AS MATERIALIZED (
            SELECT head.task_id, device.device_id, device.host_id, device.serial, 1 AS position
            FROM devices AS device, LATERAL (
                SELECT class.name FROM unnest(CAST(:classes AS text[])) AS class (name), LATERAL (
                    SELECT priority, created_at, task_id FROM scheduled_tasks
                    WHERE status = 'queued' AND requirement_class = class.name
                    ORDER BY priority DESC, created_at, task_id LIMIT 1
                ) AS head ORDER BY head.priority DESC, head.created_at, head.task_id LIMIT 1
            ) AS best, LATERAL (
                SELECT task_id FROM scheduled_tasks WHERE status = 'queued' AND requirement_class = best.name
                ORDER BY priority DESC, created_at, task_id LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS head
            WHERE device.device_id = :device_id
        ), dispatched AS (
            UPDATE scheduled_tasks AS task
            SET status = 'dispatched', attempt = task.attempt + 1, started_at = corral_now(), progress = NULL,
                lease_id = :lease_id, host_id = chosen.host_id, device_id = chosen.device_id, assigned_at = corral_now()
            FROM chosen WHERE task.task_id = (SELECT task_id FROM chosen) AND task.status = 'queued'
            {claims.DISPATCHED}
        ), {claims.BEGIN_ATTEMPTS_AND_LEASES}, told AS (
            INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
            SELECT task_id, corral_now(), 'task.assigned', attempt - 1, 'scheduler',
                   jsonb_build_object('host_id', host_id, 'device_id', device_id) FROM dispatched
            UNION ALL {_DISPATCHED_EVENT} FROM dispatched
        )
        {claims.TO_RUN_AS_JSON}
        """,
        device_id=device_id,
        classes=list(requirement_classes),
        claim_id=claim_id,
        incarnation=incarnation,
        lease_id=lease_id,
        lease_seconds=lease_seconds,
    )
    return taken or []


def request_cancel(tx: Transaction, task_id: UUID, *, actor: str, reason: str | None) -> RowMapping | None:
    """queued → cancelled; assigned and dispatched stay, with `cancel_requested_at`. Only the first request counts."""
    rows = request_cancels(tx, [task_id], actor=actor, reason=reason)
    return rows[0] if rows else None


def request_cancels(
    tx: Transaction, task_ids: Sequence[UUID], *, actor: str, reason: str | None
) -> Sequence[RowMapping]:
    """The same for several tasks."""
    rows = tx.rows(
        f"""
        UPDATE scheduled_tasks AS task
        SET status = CASE WHEN task.status = 'queued' THEN 'cancelled' ELSE task.status END,
            finished_at = CASE WHEN task.status = 'queued' THEN corral_now() END,
            cancel_requested_at = CASE WHEN task.status = 'queued' THEN NULL ELSE corral_now() END,
            cancel_reason = CASE WHEN task.status = 'queued' THEN NULL ELSE CAST(:reason AS text) END
        WHERE task.cancel_requested_at IS NULL AND task.status IN ('queued', 'assigned', 'dispatched')
            AND task.task_id = ANY(ARRAY(
                SELECT task_id FROM scheduled_tasks WHERE task_id = ANY(CAST(:task_ids AS uuid[]))
                ORDER BY task_id FOR UPDATE
            ))
        {_CHANGED}, task.lease_id
        """,
        task_ids=list(task_ids),
        reason=reason,
    )
    record_events(tx, [event for row in rows for event in _cancel_events(row, reason)], actor=actor)
    return rows


def _cancel_events(row: RowMapping, reason: str | None) -> list[Event]:
    asked = _event(row, TaskEventKind.CANCEL_REQUESTED, {"reason": reason} if reason else {})
    is_over = row["status"] == TaskStatus.CANCELLED
    return [asked, _event(row, TaskEventKind.CANCELLED, _BEFORE_START)] if is_over else [asked]


def settle_assigned_cancels(tx: Transaction) -> Sequence[RowMapping]:
    """assigned → cancelled, for tasks with a pending cancel that no host has claimed."""
    changed = tx.rows(
        f"""
        UPDATE scheduled_tasks AS task SET status = 'cancelled', {_ENDED}
        WHERE task.status = 'assigned' AND task.cancel_requested_at IS NOT NULL AND task.task_id = ANY(ARRAY(
            SELECT task_id FROM scheduled_tasks WHERE status = 'assigned' AND cancel_requested_at IS NOT NULL
            ORDER BY task_id LIMIT {SWEEP_ROWS} FOR UPDATE SKIP LOCKED
        ))
        {_CHANGED}
        """
    )
    record_events(tx, [_event(row, TaskEventKind.CANCELLED, _BEFORE_START) for row in changed], actor="scheduler")
    return changed


@dataclass(frozen=True, slots=True)
class Ending:
    """What the holder of a lease says of its run."""

    status: AttemptStatus
    cause: FailureCause | None
    failure_reason: str | None
    result: dict[str, Any] | None
    progress: dict[str, Any] | None
    stopped_by: StoppedBy
    #: As it is kept, to be compared with a repeat.
    report: dict[str, Any]


def finish(tx: Transaction, *, lease_id: UUID, host_id: UUID, ending: Ending) -> RowMapping | None:
    """dispatched → done, failed or cancelled, as the holder of the lease reports. Cancelled only where it was asked.

    Whoever takes the lease away decides, and the attempt ends with the task. None where nothing was changed: the lease
    had gone before, or nobody asked for a cancel.
    """
    details: dict[str, Any] = {"reason": ending.failure_reason} if ending.failure_reason else {}
    if ending.status is AttemptStatus.CANCELLED:
        details |= {"stopped_by": ending.stopped_by, "confirmed": True}
    change = f"""
        status = :status, failure_reason = :failure_reason, result = CAST(:result AS jsonb), lease_id = NULL,
        progress = coalesce(CAST(:progress AS jsonb), ended.progress), {_ENDED}
    """
    return tx.row(
        _end_by_report(change, "CAST(:details AS jsonb)"),
        **_of_report(lease_id, host_id, ending),
        progress=as_json(ending.progress),
        details=as_json(details),
    )


def give_back(tx: Transaction, *, lease_id: UUID, host_id: UUID, ending: Ending) -> RowMapping | None:
    """dispatched → cancelled, queued or failed, when the holder of the lease reports that it could not go on."""
    details = """
        jsonb_build_object('reason', CAST(:reason AS text), 'attempts_left', max_attempts - attempt)
        || CASE status WHEN 'cancelled' THEN CAST(:of_cancel AS jsonb) ELSE '{}' END
    """
    return tx.row(
        _end_by_report(_LEFT_THE_DEVICE, details),
        **_of_report(lease_id, host_id, ending),
        reason=ending.failure_reason,
        of_cancel=as_json({"stopped_by": ending.stopped_by, "confirmed": True}),
    )


def _end_by_report(change: str, details: str) -> str:
    return f"""
        WITH ended AS (
            DELETE FROM leases AS lease USING scheduled_tasks AS task
            WHERE lease.lease_id = :lease_id AND lease.host_id = :host_id AND task.task_id = lease.task_id
                AND (:status <> 'cancelled' OR task.cancel_requested_at IS NOT NULL)
            RETURNING lease.task_id, lease.progress
        ), changed AS (
            UPDATE scheduled_tasks AS task SET {change}
            FROM ended WHERE task.task_id = (SELECT task_id FROM ended) AND task.lease_id = :lease_id
                AND task.status = 'dispatched'
            {_CHANGED}
        ), attempts AS (
            UPDATE task_attempts AS attempt
            SET status = :status, finished_at = corral_now(), cause = :cause, failure_reason = :failure_reason,
                result = CAST(:result AS jsonb), report = CAST(:report AS jsonb)
            FROM changed WHERE attempt.lease_id = :lease_id AND attempt.status = 'dispatched'
        ), told AS (
            INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
            SELECT task_id, corral_now(), 'task.' || CASE status WHEN 'queued' THEN 'requeued' ELSE status END, attempt,
                   :actor, {details}
            FROM changed
        )
        SELECT task_id, status FROM changed
    """


def _of_report(lease_id: UUID, host_id: UUID, ending: Ending) -> dict[str, Any]:
    return {
        "lease_id": lease_id,
        "host_id": host_id,
        "actor": f"host:{host_id}",
        "status": ending.status.value,
        "cause": ending.cause.value if ending.cause else None,
        "failure_reason": ending.failure_reason,
        "result": as_json(ending.result),
        "report": as_json(ending.report),
    }


def lose(tx: Transaction, lease_ids: Sequence[UUID], *, reason: str, confirmed: bool) -> Sequence[RowMapping]:
    """dispatched → cancelled, queued or failed, for the tasks of leases that were just taken away; attempts expire.

    `confirmed`: the runs have stopped for sure.
    """
    return tx.rows(
        f"""
        WITH changed AS (
            UPDATE scheduled_tasks AS task SET {_LEFT_THE_DEVICE}
            WHERE task.lease_id = ANY(CAST(:lease_ids AS uuid[])) AND task.status = 'dispatched'
                AND task.task_id = ANY(ARRAY(
                    SELECT task.task_id FROM task_attempts AS attempt JOIN scheduled_tasks AS task USING (task_id)
                    WHERE attempt.lease_id = ANY(CAST(:lease_ids AS uuid[]))
                    ORDER BY task.task_id FOR NO KEY UPDATE OF task
                ))
            {_CHANGED}
        ), expired AS (
            UPDATE task_attempts
            SET status = 'expired', finished_at = corral_now(), cause = NULL, failure_reason = :reason, result = NULL,
                report = NULL
            WHERE lease_id = ANY(CAST(:lease_ids AS uuid[])) AND status = 'dispatched'
        ), told AS (
            INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
            SELECT task_id, corral_now(), 'task.' || CASE status WHEN 'queued' THEN 'requeued' ELSE status END, attempt,
                   'reaper',
                   jsonb_build_object('reason', CAST(:reason AS text), 'attempts_left', max_attempts - attempt)
                       || CASE status WHEN 'cancelled' THEN CAST(:of_cancel AS jsonb) ELSE '{{}}' END
            FROM changed
        )
        SELECT task_id, attempt, status FROM changed
        """,
        lease_ids=list(lease_ids),
        reason=reason,
        of_cancel=as_json({"stopped_by": StoppedBy.REAPER, "confirmed": confirmed}),
    )


def release_unclaimed(tx: Transaction, *, assigned_longer_than_seconds: float) -> Sequence[RowMapping]:
    """assigned → queued (cancelled where asked), for assignments that no host has claimed in time."""
    return _release(
        tx,
        "task.assigned_at < corral_now() - make_interval(secs => :seconds)",
        reason="nobody claimed it in time",
        seconds=assigned_longer_than_seconds,
    )


def release_assignments_of(tx: Transaction, host_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    """assigned → queued (cancelled where asked), for all assignments of hosts that are gone."""
    return _release(tx, "task.host_id = ANY(:host_ids)", reason="its host went offline", host_ids=list(host_ids))


def fail_impatient(tx: Transaction) -> Sequence[RowMapping]:
    """queued → failed, for tasks that have waited longer than they wanted to."""
    changed = tx.rows(
        f"""
        UPDATE scheduled_tasks AS task
        SET status = 'failed', {_ENDED},
            failure_reason = format('no device took it within its queue timeout of %s s', task.queue_timeout_seconds)
        WHERE task.status = 'queued' AND task.task_id = ANY(ARRAY(
            SELECT task_id FROM scheduled_tasks
            WHERE status = 'queued' AND queue_timeout_seconds IS NOT NULL
                AND queued_at < corral_now() - make_interval(secs => queue_timeout_seconds)
            ORDER BY task_id LIMIT {SWEEP_ROWS} FOR UPDATE SKIP LOCKED
        ))
        {_CHANGED}
        """
    )
    reason = {"reason": "queue timeout"}
    record_events(tx, [_event(row, TaskEventKind.FAILED, reason) for row in changed], actor="scheduler")
    return changed


def cancel_expired(tx: Transaction, *, actor: str) -> Sequence[RowMapping]:
    """queued → cancelled, for tasks of Celery clients that have not begun by the time that their message gives."""
    changed = tx.rows(
        f"""
        UPDATE scheduled_tasks AS task SET status = 'cancelled', {_ENDED}
        WHERE task.status = 'queued' AND task.attempt = 0 AND task.task_id = ANY(ARRAY(
            SELECT task_id FROM celery_requests AS request JOIN scheduled_tasks AS task USING (task_id)
            WHERE NOT request.is_settled AND request.expires_at <= corral_now()
                AND task.status = 'queued' AND task.attempt = 0
            ORDER BY task_id LIMIT {SWEEP_ROWS} FOR UPDATE OF task SKIP LOCKED
        ))
        {_CHANGED}
        """
    )
    record_events(tx, [event for row in changed for event in _cancel_events(row, EXPIRED_REASON)], actor=actor)
    return changed


def _release(tx: Transaction, condition: str, *, reason: str, **parameters: Any) -> Sequence[RowMapping]:
    changed = tx.rows(
        f"""
        UPDATE scheduled_tasks AS task
        SET status = CASE WHEN task.cancel_requested_at IS NULL THEN 'queued' ELSE 'cancelled' END,
            finished_at = CASE WHEN task.cancel_requested_at IS NOT NULL THEN corral_now() END,
            cancel_requested_at = NULL, cancel_reason = NULL, assigned_at = NULL,
            host_id = CASE WHEN task.cancel_requested_at IS NOT NULL THEN task.host_id END,
            device_id = CASE WHEN task.cancel_requested_at IS NOT NULL THEN task.device_id END
        WHERE task.status = 'assigned' AND task.task_id = ANY(ARRAY(
            SELECT task_id FROM scheduled_tasks AS task WHERE task.status = 'assigned' AND {condition}
            ORDER BY task_id LIMIT {SWEEP_ROWS} FOR UPDATE SKIP LOCKED
        ))
        {_CHANGED}
        """,
        **parameters,
    )
    details = {TaskStatus.CANCELLED: _BEFORE_START, TaskStatus.QUEUED: {"reason": reason}}
    statuses = [TaskStatus(row["status"]) for row in changed]
    events = [_event(row, _EVENT_OF[status], details[status]) for row, status in zip(changed, statuses, strict=True)]
    record_events(tx, events, actor="reaper")
    return changed


def _event(row: RowMapping, kind: TaskEventKind, details: dict[str, Any]) -> Event:
    return Event(kind, row["task_id"], row["attempt"], details)
