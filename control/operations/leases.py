"""Keep leases alive, and tell their holders whether somebody wants the task stopped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from control.domain.errors import StaleLease
from control.metrics import CANCEL_HOP_SECONDS
from control.operations.plane import Plane
from control.store import leases
from control.store.database import retried_on_deadlock
from control.store.leases import Renewal, Said
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
        said = _renew(plane, renewals, hosts_to_check)
    except DBAPIError:
        # A deadlock, or a server that was restarted under a connection that is kept: renewing twice does no harm.
        said = _renew_after_failure(plane, renewals, hosts_to_check)
    failpoint("renew.committed")
    renewed = RenewedLeases([False] * len(renewals))
    for one in said:
        match one.what:
            case "renewed":
                renewed.expires_at = one.expires_at
            case "stale":
                renewed.cancelled[one.place] = None
            case "cancelled":
                renewed.cancelled[one.place] = True
                for fact in one.new_facts:
                    CANCEL_HOP_SECONDS.labels(_HOP_OF[fact]).observe(one.cancel_age_seconds)
            case "other":
                renewed.others.setdefault(one.host_id, []).append(UUID(one.lease_id))
    return renewed


def stale_lease(lease_id: UUID | str) -> StaleLease:
    return StaleLease(f"lease {lease_id} has ended; stop the run and claim again", lease_id=str(lease_id))


def _renew(plane: Plane, renewals: Sequence[Renewal], hosts_to_check: Iterable[str]) -> list[Said]:
    lease_seconds = plane.timing.lease_seconds
    with plane.database.statement() as tx:
        return leases.renew_leases(tx, renewals, lease_seconds=lease_seconds, hosts_to_check=hosts_to_check)


_renew_after_failure = retried_on_deadlock(_renew)
