"""What a claim gives: parts of the statements of `control.store.transitions`, and the answer to a repeat."""

from typing import Any
from uuid import UUID

import stamina
from sqlalchemy import RowMapping
from sqlalchemy.exc import IntegrityError

from control.store.database import Transaction
from control.store.label_sets import SOURCES_OF_LABELS

_ONE_ANSWER = "uq_task_attempts_host_id_claim_id_claim_position"

#: What there is for the host of a claim, and the host, locked: claims, heartbeats and reports that claim of one host go
#: one by one. Its row is locked before those of leases and tasks, everywhere.
LOOK_AND_LOCK_HOST = """
    look AS MATERIALIZED (
        SELECT host.incarnation,
            EXISTS (SELECT 1 FROM task_attempts AS earlier
                    WHERE earlier.host_id = host.host_id AND earlier.claim_id = :claim_id) AS is_repeated,
            ARRAY(SELECT task.task_id FROM devices AS device, LATERAL (
                      SELECT task_id, priority FROM scheduled_tasks
                      WHERE device_id = device.device_id AND status IN ('assigned', 'dispatched')
                          AND lease_id IS NULL AND cancel_requested_at IS NULL
                      -- Device by device: a join might read all devices that are busy.
                      OFFSET 0
                  ) AS task
                  WHERE device.host_id = :host_id AND device.serial = ANY(CAST(:serials AS text[]))) AS to_claim
        FROM hosts AS host WHERE host.host_id = :host_id
    ), host AS MATERIALIZED (
        SELECT host_id FROM hosts
        WHERE host_id = :host_id AND incarnation = :incarnation
            AND (SELECT to_claim <> '{}' AND NOT is_repeated FROM look)
        FOR NO KEY UPDATE
    )
"""
#: The tasks of the claim, locked, in the order in which they are given.
CANDIDATES = """
    SELECT task.task_id, task.priority, task.created_at, task.device_id FROM host CROSS JOIN scheduled_tasks AS task
    WHERE task.task_id = ANY(CAST((SELECT to_claim FROM look) AS uuid[])) AND task.status = 'assigned'
        AND task.cancel_requested_at IS NULL
    ORDER BY task.priority DESC, task.created_at, task.task_id LIMIT :limit FOR UPDATE OF task SKIP LOCKED
"""

#: What a host needs to run a task, by the names of `corral.contract.host_protocol.Assignment`. `position` is its place
#: among those of one claim.
_TO_RUN = """
    task.task_id, task.attempt, task.lease_id, task.kind, task.name, task.flow, task.goal, task.verify, task.agent,
    task.files, task.env, task.timeout_seconds, task.cancel_requested_at IS NOT NULL AS cancel_requested
"""
DISPATCHED = f"RETURNING {_TO_RUN}, task.host_id, task.device_id, chosen.serial AS device_serial, chosen.position"
#: All of it in one column: a row of so many costs its reader more than the statement costs Postgres.
TO_RUN_AS_JSON = """
    SELECT json_agg(to_run ORDER BY position) FROM (
        SELECT dispatched.*, begun.expires_at AS lease_expires_at FROM dispatched JOIN begun USING (lease_id)
    ) AS to_run
"""

BEGIN_ATTEMPTS_AND_LEASES = """
    attempts AS (
        INSERT INTO task_attempts (task_id, attempt, lease_id, host_id, device_id, claim_id, claim_position, status,
                                   claimed_at)
        SELECT task_id, attempt, lease_id, host_id, device_id, :claim_id, position, 'dispatched', corral_now()
        FROM dispatched ORDER BY position
    ), begun AS (
        INSERT INTO leases (lease_id, task_id, attempt, host_id, device_id, incarnation, expires_at)
        SELECT lease_id, task_id, attempt, host_id, device_id, :incarnation,
               corral_now() + make_interval(secs => :lease_seconds)
        FROM dispatched ORDER BY position
        RETURNING lease_id, expires_at
    )
"""


#: More sets of conditions than this are left to the pass that reads the whole queue: here a report waits.
MAX_CLASSES = 100


def lock_host_that_reports(tx: Transaction, *, host_id: UUID, lease_id: UUID, claim_id: UUID) -> RowMapping | None:
    """The host, locked, with the device of the lease and what is queued: all that a claim after a report depends on.

    `classes` has the queue's sets of conditions, at most one more than `MAX_CLASSES`; `has_claimed` says whether this
    claim was answered before. `device_id` is null where the lease has gone.
    """
    return tx.row(
        f"""
        WITH RECURSIVE class AS (
            (SELECT requirement_class, requires FROM scheduled_tasks WHERE status = 'queued'
             ORDER BY requirement_class LIMIT 1)
            UNION ALL
            SELECT following.requirement_class, following.requires FROM class, LATERAL (
                SELECT requirement_class, requires FROM scheduled_tasks
                WHERE status = 'queued' AND requirement_class > class.requirement_class
                ORDER BY requirement_class LIMIT 1
            ) AS following
        )
        SELECT host.incarnation, host.is_online AND NOT host.is_drain_requested AND NOT host.is_draining AS takes_tasks,
               device.device_id, device.state, {SOURCES_OF_LABELS},
               EXISTS (SELECT 1 FROM task_attempts AS earlier
                       WHERE earlier.host_id = host.host_id AND earlier.claim_id = :claim_id) AS has_claimed,
               ARRAY(SELECT jsonb_build_object('name', requirement_class, 'requires', requires)
                     FROM class LIMIT :max_classes) AS classes
        FROM hosts AS host
        LEFT JOIN leases AS lease ON lease.host_id = host.host_id AND lease.lease_id = :lease_id
        LEFT JOIN devices AS device ON device.device_id = lease.device_id
        WHERE host.host_id = :host_id FOR NO KEY UPDATE OF host
        """,
        host_id=host_id,
        lease_id=lease_id,
        claim_id=claim_id,
        max_classes=MAX_CLASSES + 1,
    )


def hosts_with_assignments(tx: Transaction) -> frozenset[UUID]:
    """Hosts that have not claimed all that is assigned to them."""
    rows = tx.rows(
        "SELECT DISTINCT host_id FROM scheduled_tasks WHERE status = 'assigned' AND cancel_requested_at IS NULL"
    )
    return frozenset(row["host_id"] for row in rows)


def renew_claim(tx: Transaction, *, host_id: UUID, claim_id: UUID, lease_seconds: float) -> list[dict[str, Any]]:
    """What an earlier request with this claim id was given and still has, each lease renewed by its full length."""
    return (
        tx.value(
            f"""
            WITH dispatched AS (
                SELECT {_TO_RUN}, device.serial AS device_serial, attempt.claim_position AS position
                FROM task_attempts AS attempt JOIN scheduled_tasks AS task USING (task_id, lease_id)
                JOIN devices AS device ON device.device_id = attempt.device_id
                WHERE attempt.host_id = :host_id AND attempt.claim_id = :claim_id
            ), begun AS (
                UPDATE leases AS lease SET expires_at = corral_now() + make_interval(secs => :lease_seconds)
                WHERE lease.lease_id = ANY(ARRAY(
                    SELECT lease_id FROM leases JOIN dispatched USING (lease_id) ORDER BY lease_id FOR UPDATE OF leases
                ))
                RETURNING lease.lease_id, lease.expires_at
            )
            {TO_RUN_AS_JSON}
            """,
            host_id=host_id,
            claim_id=claim_id,
            lease_seconds=lease_seconds,
        )
        or []
    )


def _is_answered_at_once(error: Exception) -> bool:
    diagnosis = getattr(error.orig, "diag", None) if isinstance(error, IntegrityError) else None
    return getattr(diagnosis, "constraint_name", None) == _ONE_ANSWER


#: Of two requests under one claim id at once, the second looks again, and finds what the first was given.
retried_when_answered_at_once = stamina.retry(
    on=_is_answered_at_once, attempts=3, wait_initial=0.001, wait_max=0.01, timeout=10
)
