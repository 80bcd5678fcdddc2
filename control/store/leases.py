"""Live leases: one narrow row each, which only a claim and an accepted renewal ever extend."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.json_text import as_json
from control.store.transitions import SWEEP_ROWS

_LEASE = (
    "lease.lease_id, lease.task_id, lease.attempt, lease.host_id, lease.device_id, lease.expires_at, lease.progress"
)


def insert_lease(
    tx: Transaction,
    *,
    lease_id: UUID,
    task_id: UUID,
    attempt: int,
    host_id: UUID,
    device_id: UUID,
    incarnation: UUID,
    lease_seconds: float,
) -> None:
    """Begin a lease, which ends by itself unless it is renewed."""
    tx.run(
        """
        INSERT INTO leases (lease_id, task_id, attempt, host_id, device_id, incarnation, expires_at)
        VALUES (:lease_id, :task_id, :attempt, :host_id, :device_id, :incarnation,
                corral_now() + make_interval(secs => :lease_seconds))
        """,
        lease_id=lease_id,
        task_id=task_id,
        attempt=attempt,
        host_id=host_id,
        device_id=device_id,
        incarnation=incarnation,
        lease_seconds=lease_seconds,
    )


def renew_lease(
    tx: Transaction, *, lease_id: UUID, host_id: UUID, lease_seconds: float, progress: dict[str, Any] | None
) -> RowMapping | None:
    """Extend the lease where it is current, and say in the same breath whether a cancel is pending."""
    return tx.row(
        """
        UPDATE leases AS lease
        SET expires_at = corral_now() + make_interval(secs => :lease_seconds),
            progress = coalesce(CAST(:progress AS jsonb), lease.progress)
        FROM scheduled_tasks AS task
        WHERE lease.lease_id = :lease_id AND lease.host_id = :host_id AND task.task_id = lease.task_id
        RETURNING lease.task_id, lease.attempt, lease.expires_at,
                  task.cancel_requested_at IS NOT NULL AS cancel_requested
        """,
        lease_id=lease_id,
        host_id=host_id,
        lease_seconds=lease_seconds,
        progress=as_json(progress),
    )


def end_lease(tx: Transaction, *, lease_id: UUID, host_id: UUID) -> RowMapping | None:
    """Take the lease away because its holder reports: whoever deletes the row decides what becomes of the task."""
    return tx.row(
        f"DELETE FROM leases AS lease WHERE lease.lease_id = :lease_id AND lease.host_id = :host_id RETURNING {_LEASE}",
        lease_id=lease_id,
        host_id=host_id,
    )


def end_expired_leases(tx: Transaction, *, expired_for_seconds: float) -> Sequence[RowMapping]:
    """Take away the leases that ended at least that long ago, some at a time, in the order of their ids."""
    return tx.rows(
        f"""
        DELETE FROM leases AS lease WHERE lease.lease_id = ANY(ARRAY(
            SELECT lease_id FROM leases WHERE expires_at < corral_now() - make_interval(secs => :seconds)
            ORDER BY lease_id LIMIT {SWEEP_ROWS} FOR UPDATE SKIP LOCKED
        ))
        RETURNING {_LEASE}
        """,
        seconds=expired_for_seconds,
    )


def end_leases_of_former_lives(tx: Transaction, *, host_id: UUID, incarnation: UUID) -> Sequence[RowMapping]:
    """Take away the leases that an earlier process of this host held."""
    return tx.rows(
        f"""
        DELETE FROM leases AS lease WHERE lease.lease_id = ANY(ARRAY(
            SELECT lease_id FROM leases WHERE host_id = :host_id AND incarnation <> :incarnation
            ORDER BY lease_id FOR UPDATE
        ))
        RETURNING {_LEASE}
        """,
        host_id=host_id,
        incarnation=incarnation,
    )
