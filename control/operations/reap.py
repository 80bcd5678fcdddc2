"""Decide for hosts that do not report: expired leases and assignments that nobody claims."""

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import RowMapping

from control.operations.assign import ring_for_capacity
from control.operations.cadence import API, api_gap_seconds
from control.operations.plane import Plane, Timing
from control.store import attempts, job_runs, leases, transitions
from control.store.database import Transaction, retried_on_deadlock
from corral.contract.cancellation import StoppedBy
from corral.contract.history import AttemptStatus


@retried_on_deadlock
def reap_expired_leases(plane: Plane) -> int:
    """End leases that nobody renewed: cancelled where asked, else queued while attempts are left, else failed.

    It acts only when the run has stopped by its host's own guard for sure, and when hosts have had the chance to
    renew: after an outage of the API the fleet reports first.
    """
    with plane.database.transaction() as tx:
        if not _may_judge(tx, plane.timing) or not job_runs.try_lock(tx, job_runs.Lock.REAP_EXPIRED_LEASES):
            return 0
        expired = leases.end_expired_leases(tx, expired_for_seconds=plane.timing.reap_after_seconds)
        lose_leases(tx, expired, reason="its lease expired: the host was not heard of", confirmed=False)
        if expired:
            ring_for_capacity(plane, tx)
    return len(expired)


@retried_on_deadlock
def release_unclaimed_assignments(plane: Plane) -> int:
    """Queue tasks again that their host did not claim in time; this uses up no attempt."""
    with plane.database.transaction() as tx:
        if not _may_judge(tx, plane.timing):
            return 0
        released = transitions.release_unclaimed(tx, assigned_longer_than_seconds=plane.timing.claim_limit_seconds)
        if released:
            ring_for_capacity(plane, tx)
    return len(released)


def lose_leases(tx: Transaction, lost: Iterable[RowMapping], *, reason: str, confirmed: bool) -> list[UUID]:
    """Decide the tasks of leases that were just taken away, in the order of their ids; answers those tasks."""
    changed: list[UUID] = []
    for lease in sorted(lost, key=lambda row: row["task_id"]):
        task = transitions.leave_device(
            tx,
            task_id=lease["task_id"],
            lease_id=lease["lease_id"],
            reason=reason,
            actor="reaper",
            stopped_by=StoppedBy.REAPER,
            confirmed=confirmed,
        )
        attempts.end_attempt(tx, lease["lease_id"], AttemptStatus.EXPIRED, failure_reason=reason)
        changed += [task["task_id"]] if task else []
    return changed


def _may_judge(tx: Transaction, timing: Timing) -> bool:
    return job_runs.is_unbroken(
        tx, API, for_seconds=timing.lease_seconds, gap_seconds=api_gap_seconds(timing.lease_seconds)
    )
