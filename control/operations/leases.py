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
    if not renewals:
        return RenewedLeases([])
    try:
        rows = _rows(plane, renewals, hosts_to_check)
    except DBAPIError:
        # A deadlock, or a server that was restarted under a connection that is kept: renewing twice does no harm.
        rows = _rows_after_failure(plane, renewals, hosts_to_check)
    failpoint("renew.committed")
    renewed = RenewedLeases([False] * len(renewals))
    for what, place, expires_at, cancel_age_seconds, new_facts, host_id, lease_id in rows:
        match what:
            case "renewed":
                renewed.expires_at = expires_at
            case "stale":
                renewed.cancelled[place] = None
            case "cancelled":
                renewed.cancelled[place] = True
                for fact in new_facts:
                    CANCEL_HOP_SECONDS.labels(_HOP_OF[fact]).observe(cancel_age_seconds)
            case _:
                renewed.others.setdefault(host_id, []).append(UUID(lease_id))
    return renewed


def stale_lease(lease_id: UUID | str) -> StaleLease:
    return StaleLease(f"lease {lease_id} has ended; stop the run and claim again", lease_id=str(lease_id))


def _rows(plane: Plane, renewals: Sequence[Renewal], hosts_to_check: Iterable[str]) -> Sequence[tuple[Any, ...]]:
    lease_seconds = plane.timing.lease_seconds
    with plane.database.statement() as tx:
        return leases.renew_leases(tx, renewals, lease_seconds=lease_seconds, hosts_to_check=hosts_to_check)


_rows_after_failure = retried_on_deadlock(_rows)
