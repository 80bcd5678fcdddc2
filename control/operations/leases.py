"""Keep a lease alive, and tell its holder whether somebody wants the task stopped."""

from uuid import UUID

from control.domain.errors import StaleLease
from control.operations.plane import Plane
from control.store import leases
from control.store.events import Event, record_events
from corral.contract.history import TaskEventKind
from corral.contract.host_protocol import LeaseRenewalRequest, LeaseRenewalResponse
from corral.failpoints import failpoint


def renew_lease(plane: Plane, host_id: UUID, lease_id: UUID, renewal: LeaseRenewalRequest) -> LeaseRenewalResponse:
    """Extend the lease by its full length; a pending cancel is said in every answer until the task has ended.

    Raises:
        StaleLease: the lease has ended, or is another host's.
    """
    timing = plane.timing
    with plane.database.transaction() as tx:
        row = leases.renew_lease(
            tx,
            lease_id=lease_id,
            host_id=host_id,
            lease_seconds=timing.lease_seconds,
            progress=renewal.progress.model_dump(mode="json") if renewal.progress else None,
        )
        if row is None:
            raise stale_lease(lease_id)
        if row["cancel_requested"]:
            facts = [TaskEventKind.CANCEL_DELIVERED, *([TaskEventKind.CANCEL_SEEN] if renewal.cancel_seen else [])]
            events = [Event(fact, row["task_id"], row["attempt"]) for fact in facts]
            record_events(tx, events, actor=f"host:{host_id}")
    failpoint("renew.committed")
    return LeaseRenewalResponse(
        lease_id=lease_id,
        lease_expires_at=row["expires_at"],
        lease_remaining_ms=round(timing.lease_seconds * 1000),
        renew_after_ms=round(timing.renew_after_seconds * 1000),
        cancel_requested=row["cancel_requested"],
    )


def stale_lease(lease_id: UUID) -> StaleLease:
    return StaleLease(f"lease {lease_id} has ended; stop the run and claim again", lease_id=str(lease_id))
