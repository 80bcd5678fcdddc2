"""Live leases: one narrow row each, which only a claim and an accepted renewal ever extend."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction

#: Ids come as one text each, which is a tenth of what binding an array of them costs the API; and it answers with the
#: exceptions alone, for nearly all that is renewed is renewed and nothing else.
_RENEW = """
    WITH renewal AS MATERIALIZED (
        SELECT * FROM unnest(
            CAST(string_to_array(%(lease_ids)s, ',') AS uuid[]), CAST(string_to_array(%(holders)s, ',') AS uuid[]),
            CAST(string_to_array(%(seen)s, ',') AS boolean[])
        ) WITH ORDINALITY AS renewal (lease_id, host_id, cancel_seen, place)
        -- Locks are taken in the order of the ids, so that no two statements wait for each other.
        ORDER BY lease_id
    ), renewed AS (
        UPDATE leases AS lease
        SET expires_at = corral_now() + make_interval(secs => %(lease_seconds)s),
            progress = coalesce(CAST(%(progress)s AS jsonb) -> CAST(renewal.place AS text), lease.progress)
        FROM renewal, scheduled_tasks AS task
        WHERE lease.lease_id = renewal.lease_id AND lease.host_id = renewal.host_id AND task.task_id = lease.task_id
        RETURNING lease.lease_id, lease.host_id, lease.task_id, lease.attempt, lease.expires_at,
                  task.cancel_requested_at
    ), cancelled AS (
        SELECT * FROM renewed JOIN renewal USING (lease_id, host_id) WHERE cancel_requested_at IS NOT NULL
    ), told AS (
        INSERT INTO task_events (task_id, at, kind, attempt, actor, details)
        SELECT task_id, corral_now(), fact.kind, attempt, 'host:' || host_id, '{}'
        FROM cancelled CROSS JOIN (VALUES (1, 'task.cancel_delivered'), (2, 'task.cancel_seen')) AS fact (number, kind)
        WHERE fact.number = 1 OR cancel_seen
        ORDER BY task_id, fact.number
        ON CONFLICT (task_id, kind)
            WHERE kind IN ('task.cancel_requested', 'task.cancel_delivered', 'task.cancel_seen') DO NOTHING
        RETURNING task_id, kind
    )
    SELECT 'renewed' AS what, NULL AS place, max(expires_at) AS expires_at, NULL AS cancel_age_seconds,
           NULL AS new_facts, NULL AS host_id, NULL AS lease_id
    FROM renewed
    UNION ALL
    SELECT 'cancelled', CAST(place AS integer) - 1, NULL,
           CAST(extract(epoch FROM corral_now() - cancel_requested_at) AS float8),
           ARRAY(SELECT told.kind FROM told WHERE told.task_id = cancelled.task_id), NULL, NULL
    FROM cancelled
    UNION ALL
    SELECT 'stale', CAST(place AS integer) - 1, NULL, NULL, NULL, NULL, NULL
    FROM renewal WHERE NOT EXISTS (
        SELECT 1 FROM renewed WHERE renewed.lease_id = renewal.lease_id AND renewed.host_id = renewal.host_id)
    UNION ALL
    SELECT 'other', NULL, NULL, NULL, NULL, CAST(other.host_id AS text), CAST(other.lease_id AS text)
    FROM leases AS other
    WHERE other.host_id = ANY(CAST(string_to_array(%(hosts_to_check)s, ',') AS uuid[]))
        AND NOT EXISTS (SELECT 1 FROM renewal WHERE renewal.lease_id = other.lease_id)
"""


class Renewal(NamedTuple):
    """What a host says of one of its leases, as text and JSON: thousands of them pass here every second."""

    lease_id: str
    host_id: str
    progress: str | None = None
    cancel_seen: bool = False


class Said(NamedTuple):
    """What is worth saying about renewals that were made together.

    `renewed` comes once, with the new expiry of all; `cancelled` and `stale` with the place of a renewal; `other` for
    each lease of the hosts to check that no renewal named.
    """

    what: Literal["renewed", "cancelled", "stale", "other"]
    place: int
    expires_at: datetime | None
    cancel_age_seconds: float
    new_facts: list[str]
    host_id: str
    lease_id: str


def renew_leases(
    tx: Transaction, renewals: Sequence[Renewal], *, lease_seconds: float, hosts_to_check: Iterable[str] = ()
) -> list[Said]:
    """Extend all that are current, in one statement that also tells whose cancel is pending, and writes down who heard.

    A lease may be named twice.
    """
    lease_ids, holders, progress, seen = zip(*renewals, strict=True)
    # Of a lease that its host names twice, what was said last counts, whichever of the two Postgres takes.
    names = list(zip(lease_ids, holders, strict=True))
    latest = {name: one for name, one in zip(names, progress, strict=True) if one is not None}
    said = [f'"{place}":{latest[name]}' for place, name in enumerate(names, 1) if name in latest]
    rows = tx.plain_rows(
        _RENEW,
        lease_ids=",".join(lease_ids),
        holders=",".join(holders),
        # A shorter array is filled up with nulls.
        seen=",".join(["t" if one else "f" for one in seen]) if any(seen) else "",
        progress=f"{{{','.join(said)}}}",
        lease_seconds=lease_seconds,
        hosts_to_check=",".join(hosts_to_check),
    )
    return [Said(*row) for row in rows]


def expired_leases(tx: Transaction, *, expired_for_seconds: float) -> list[UUID]:
    """The leases that ended at least that long ago, in the order of their ids: a look without a lock."""
    return tx.value(
        """
        SELECT coalesce(array_agg(lease_id ORDER BY lease_id), '{}') FROM leases
        WHERE expires_at < corral_now() - make_interval(secs => :seconds)
        """,
        seconds=expired_for_seconds,
    )


def end_expired_leases(
    tx: Transaction, lease_ids: Sequence[UUID], *, expired_for_seconds: float
) -> Sequence[RowMapping]:
    """Take away those of these leases that ended at least that long ago and that nobody else is deciding about."""
    return tx.rows(
        """
        DELETE FROM leases AS lease WHERE lease.lease_id = ANY(ARRAY(
            SELECT lease_id FROM leases
            WHERE lease_id = ANY(CAST(:lease_ids AS uuid[]))
                AND expires_at < corral_now() - make_interval(secs => :seconds)
            ORDER BY lease_id FOR UPDATE SKIP LOCKED
        ))
        RETURNING lease.host_id, lease.lease_id
        """,
        lease_ids=list(lease_ids),
        seconds=expired_for_seconds,
    )


def end_leases_of_former_lives(tx: Transaction, *, host_id: UUID, incarnation: UUID) -> Sequence[RowMapping]:
    """Take away the leases that an earlier process of this host held."""
    return tx.rows(
        """
        DELETE FROM leases AS lease WHERE lease.lease_id = ANY(ARRAY(
            SELECT lease_id FROM leases WHERE host_id = :host_id AND incarnation <> :incarnation
            ORDER BY lease_id FOR UPDATE
        ))
        RETURNING lease.host_id, lease.lease_id
        """,
        host_id=host_id,
        incarnation=incarnation,
    )
