"""What there is just now, in numbers, from rows that are live: no statement here reads a task that has ended."""

from typing import Any

from control.store.database import Transaction

#: A look that takes longer is given up: it is for a page of metrics, and Postgres has tasks to serve.
LOOK_LIMIT_MS = 2_000


def fleet_counts(tx: Transaction, *, lease_seconds: float) -> dict[str, Any]:
    """All numbers at once, each from an index of its own or from a table with one row per device.

    Queued tasks are the only ones that may be very many, and are read one by one for the age of the oldest.
    """
    # Each number has its index, or a small table. Left to itself, Postgres reads a million ended tasks in three
    # processes to find a hundred thousand queued ones.
    tx.run(
        f"""
        SELECT set_config('enable_seqscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
               set_config('statement_timeout', '{LOOK_LIMIT_MS}', true)
        """
    )
    (row,) = tx.rows(
        """
        WITH queued AS (
            SELECT count(*) AS number, min(queued_at) AS oldest_at FROM scheduled_tasks WHERE status = 'queued'
        ), busy AS (
            SELECT status, count(*) AS number FROM scheduled_tasks
            WHERE status IN ('assigned', 'dispatched') GROUP BY status
        ), cancelling AS (
            SELECT status, count(*) AS number, min(cancel_requested_at) AS oldest_at FROM scheduled_tasks
            WHERE cancel_requested_at IS NOT NULL GROUP BY status
        ), lease AS (
            SELECT CASE WHEN expires_at <= corral_now() THEN 'expired'
                        WHEN expires_at <= corral_now() + make_interval(secs => :lease_seconds / 3) THEN 'low'
                        WHEN expires_at <= corral_now() + make_interval(secs => :lease_seconds * 2 / 3) THEN 'aging'
                        ELSE 'fresh' END AS remaining, count(*) AS number
            FROM leases GROUP BY 1
        ), host AS (
            SELECT CASE WHEN NOT is_online THEN 'offline'
                        WHEN is_drain_requested OR is_draining THEN 'draining'
                        ELSE 'online' END AS state, count(*) AS number
            FROM hosts WHERE revoked_at IS NULL GROUP BY 1
        ), device AS (
            SELECT CASE WHEN host.is_online THEN device.state ELSE 'host_offline' END AS state, count(*) AS number
            FROM devices AS device JOIN hosts AS host USING (host_id) WHERE host.revoked_at IS NULL GROUP BY 1
        )
        SELECT
            (SELECT number FROM queued) AS queued,
            (SELECT extract(epoch FROM corral_now() - oldest_at) FROM queued) AS oldest_queued_seconds,
            (SELECT jsonb_object_agg(status, number) FROM busy) AS busy,
            (SELECT jsonb_object_agg(status, number) FROM cancelling) AS cancelling,
            (SELECT extract(epoch FROM corral_now() - min(oldest_at)) FROM cancelling) AS oldest_cancel_seconds,
            (SELECT jsonb_object_agg(remaining, number) FROM lease) AS leases,
            (SELECT jsonb_object_agg(state, number) FROM host) AS hosts,
            (SELECT jsonb_object_agg(state, number) FROM device) AS devices,
            (SELECT jsonb_object_agg(name, extract(epoch FROM corral_now() - last_run_at)) FROM job_runs) AS runs
        """,
        lease_seconds=lease_seconds,
    )
    return dict(row)
