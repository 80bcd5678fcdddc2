"""The fleet as Celery's tools see it: hosts under names that no two of them share, and the tasks that they have."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction

#: Of hosts that carry one name, the one registered last has it plain; one that was revoked gives way to one that works.
_NAMED = """
    SELECT host_id, name, is_online, is_drain_requested OR is_draining AS is_draining, version, labels,
           revoked_at, last_seen_at,
           row_number() OVER (
               PARTITION BY name ORDER BY revoked_at IS NOT NULL, registered_at DESC, host_id DESC
           ) = 1 AS has_plain_name
    FROM hosts
"""

_TASK = """
    task.task_id, task.attempt, task.kind AS task_kind, task.name AS task_name, task.labels, task.status,
    task.cancel_requested_at, task.created_by
"""


def hosts_as_workers(tx: Transaction, *, seen_within_seconds: float, limit: int) -> Sequence[RowMapping]:
    """Hosts that are not revoked and are online, or were heard of within this time."""
    return tx.rows(
        f"""
        SELECT host.host_id, host.name, host.has_plain_name, host.is_online, host.is_draining, host.version,
               host.labels,
               (SELECT count(*) FROM devices WHERE devices.host_id = host.host_id AND state <> 'absent') AS devices,
               (SELECT count(*) FROM leases WHERE leases.host_id = host.host_id) AS active
        FROM ({_NAMED}) AS host
        WHERE host.revoked_at IS NULL
            AND (host.is_online OR host.last_seen_at > corral_now() - make_interval(secs => :seconds))
        ORDER BY host.name, host.host_id LIMIT :limit
        """,
        seconds=seen_within_seconds,
        limit=limit,
    )


def names_of(tx: Transaction, host_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    """What these hosts are called, gone ones too: `host_id`, `name`, `has_plain_name`."""
    return tx.rows(
        f"SELECT host_id, name, has_plain_name FROM ({_NAMED}) AS host WHERE host_id = ANY(:host_ids)",
        host_ids=list(host_ids),
    )


def finished_attempts(tx: Transaction) -> dict[UUID, int]:
    """How many runs of each host have ended, of those that are still kept."""
    rows = tx.rows("SELECT host_id, count(*) AS finished FROM task_attempts GROUP BY host_id")
    return {row["host_id"]: row["finished"] for row in rows}


def tasks_on_hosts(tx: Transaction, *, limit: int) -> Sequence[RowMapping]:
    """Tasks that hold a device, with its serial, the host that has them, and since when they are where they are."""
    return tx.rows(
        f"""
        SELECT {_TASK}, task.host_id, device.serial, coalesce(lease.progress, task.progress) AS progress,
               CASE task.status WHEN 'assigned' THEN task.assigned_at ELSE task.started_at END AS since
        FROM scheduled_tasks AS task
        JOIN devices AS device ON device.device_id = task.device_id
        LEFT JOIN leases AS lease ON lease.lease_id = task.lease_id
        WHERE task.status IN ('assigned', 'dispatched') ORDER BY task.created_at, task.task_id LIMIT :limit
        """,
        limit=limit,
    )


def queued_tasks(tx: Transaction, *, limit: int) -> Sequence[RowMapping]:
    """Tasks that wait for a device, youngest first."""
    return tx.rows(
        f"""
        SELECT {_TASK}, NULL AS serial, NULL AS progress, task.queued_at AS since
        FROM scheduled_tasks AS task WHERE task.status = 'queued'
        ORDER BY task.created_at DESC, task.task_id DESC LIMIT :limit
        """,
        limit=limit,
    )
