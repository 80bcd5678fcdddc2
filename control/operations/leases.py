"""Keep leases alive, and tell their holders whether somebody wants the task stopped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from control.domain.errors import StaleLease
from control.metrics import CANCEL_HOP_SECONDS
from control.operations.plane import Plane
from control.store import leases
from control.store.database import retried_on_deadlock
from control.store.leases import Renewal
from corral.failpoints import failpoint

_HOP_OF = {"task.cancel_delivered": "delivered", "task.cancel_seen": "seen"}


@dataclass(slots=True)
class RenewedLeases:
    """What became of renewals that were made together.

    `cancelled` has an entry for each, in their order: whether its cancel is pending, None where the lease has ended or
    is another host's. `others` are the leases of hosts that were asked about and that no renewal named.
    """

    cancelled: list[bool | None]
    expires_at: datetime | None = None
    others: dict[str, list[UUID]] = field(default_factory=dict[str, list[UUID]])


def renew_leases(plane: Plane, renewals: Sequence[Renewal], *, hosts_to_check: Iterable[str] = ()) -> RenewedLeases:
    """Extend leases by their full length; a pending cancel is said every time until the task has ended.

    One statement, and so one transaction: who is told of a cancel in it is written down in it.
    """
    places = _places(renewals)
    distinct = [_merged(renewals, places[key]) for key in sorted(places)]
    try:
        rows = _rows(plane, distinct, hosts_to_check)
    except DBAPIError:
        # A deadlock, or a server that was restarted under a connection that is kept: renewing twice does no harm.
        rows = _rows_after_failure(plane, distinct, hosts_to_check)
    failpoint("renew.committed")
    renewed = RenewedLeases([None] * len(renewals))
    for place, expires_at, cancel_age_seconds, new_facts, host_id, lease_id in rows:
        if place is None:
            renewed.others.setdefault(host_id, []).append(UUID(lease_id))
            continue
        renewed.expires_at = expires_at
        renewal = distinct[int(place)]
        for one in places[renewal.lease_id, renewal.host_id]:
            renewed.cancelled[one] = cancel_age_seconds is not None
        for fact in new_facts or ():
            CANCEL_HOP_SECONDS.labels(_HOP_OF[fact]).observe(cancel_age_seconds)
    return renewed


def stale_lease(lease_id: UUID | str) -> StaleLease:
    return StaleLease(f"lease {lease_id} has ended; stop the run and claim again", lease_id=str(lease_id))


def _rows(plane: Plane, renewals: Sequence[Renewal], hosts_to_check: Iterable[str]) -> Sequence[tuple[Any, ...]]:
    lease_seconds = plane.timing.lease_seconds
    with plane.database.statement() as tx:
        return leases.renew_leases(tx, renewals, lease_seconds=lease_seconds, hosts_to_check=hosts_to_check)


_rows_after_failure = retried_on_deadlock(_rows)


def _places(renewals: Sequence[Renewal]) -> dict[tuple[str, str], list[int]]:
    """Where each lease stands: a host that asks again before it has an answer names the same lease twice."""
    places: dict[tuple[str, str], list[int]] = {}
    for place, renewal in enumerate(renewals):
        places.setdefault((renewal.lease_id, renewal.host_id), []).append(place)
    return places


def _merged(renewals: Sequence[Renewal], places: list[int]) -> Renewal:
    if len(places) == 1:
        return renewals[places[0]]
    same = [renewals[place] for place in places]
    progress = [one.progress for one in same if one.progress is not None]
    return Renewal(
        lease_id=same[0].lease_id,
        host_id=same[0].host_id,
        progress=progress[-1] if progress else None,
        cancel_seen=any(one.cancel_seen for one in same),
    )
