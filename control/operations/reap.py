"""Decide for hosts that do not report: expired leases and assignments that nobody claims."""

import time
from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.metrics import REAPED_TASKS
from control.operations.assign import ring_for_capacity
from control.operations.cadence import API, api_gap_seconds
from control.operations.plane import Plane, Timing
from control.signals.words import LeaseOf
from control.store import job_runs, leases, transitions
from control.store.database import Transaction, retried_on_deadlock
from corral.contract.task_status import TaskStatus
from corral.traces.spans import work

#: So many leases are decided in one transaction. Their rows are locked meanwhile, for some hundredths of a second: a
#: late report or renewal of theirs waits for no longer.
REAPED_TOGETHER = 50
#: A pass ends after this; what is left is for the next one.
LONGEST_PASS_SECONDS = 60.0


def reap_expired_leases(plane: Plane) -> int:
    """End leases that nobody renewed: cancelled where asked, else queued while attempts are left, else failed.

    It acts only when the run has stopped by its host's own guard for sure, and when hosts have had the chance to
    renew: after an outage of the API the fleet reports first. It goes on, some leases in a transaction, until none is
    left.
    """
    started_at = time.monotonic()
    with plane.database.transaction() as tx:
        if not _may_judge(tx, plane.timing):
            return 0
        expired = leases.expired_leases(tx, expired_for_seconds=plane.timing.reap_after_seconds)
    reaped = 0
    for first in range(0, len(expired), REAPED_TOGETHER):
        if time.monotonic() - started_at > LONGEST_PASS_SECONDS:
            break
        reaped += _reap(plane, expired[first : first + REAPED_TOGETHER])
    return reaped


@retried_on_deadlock
def _reap(plane: Plane, lease_ids: Sequence[UUID]) -> int:
    with work("reap") as traced, plane.database.transaction() as tx:
        # Judged again: the API may have gone while the leases before these were decided.
        if not _may_judge(tx, plane.timing) or not job_runs.try_lock(tx, job_runs.Lock.REAP_EXPIRED_LEASES):
            return 0
        lost = leases.end_expired_leases(tx, lease_ids, expired_for_seconds=plane.timing.reap_after_seconds)
        reason = "its lease expired: the host was not heard of"
        for task in lose_leases(plane, tx, lost, reason=reason, confirmed=False):
            traced.serve(task["task_id"], attempt=task["attempt"], outcome=task["status"])
        if lost:
            ring_for_capacity(plane, tx)
    return len(lost)


@retried_on_deadlock
def release_unclaimed_assignments(plane: Plane) -> int:
    """Queue tasks again that their host did not claim in time; this uses up no attempt."""
    with work("release assignment") as traced, plane.database.transaction() as tx:
        if not _may_judge(tx, plane.timing):
            return 0
        released = transitions.release_unclaimed(tx, assigned_longer_than_seconds=plane.timing.claim_limit_seconds)
        for task in released:
            traced.serve(task["task_id"], outcome=task["status"])
        if released:
            ring_for_capacity(plane, tx)
    return len(released)


def lose_leases(
    plane: Plane, tx: Transaction, lost: Iterable[RowMapping], *, reason: str, confirmed: bool
) -> Sequence[RowMapping]:
    """Decide the tasks of leases that were just taken away, and tell so after the commit; answers those tasks."""
    ended = [LeaseOf(lease["host_id"], lease["lease_id"]) for lease in lost]
    if not ended:
        return []
    tx.after_commit(lambda: plane.wakeups.tell_leases_ended(ended))
    changed = transitions.lose(tx, [lease.lease_id for lease in ended], reason=reason, confirmed=confirmed)
    tx.after_commit(lambda: _count(changed))
    return changed


def _count(lost: Iterable[RowMapping]) -> None:
    for task in lost:
        REAPED_TASKS.labels("requeued" if task["status"] == TaskStatus.QUEUED else task["status"]).inc()


def _may_judge(tx: Transaction, timing: Timing) -> bool:
    return job_runs.is_unbroken(
        tx, API, for_seconds=timing.lease_seconds, gap_seconds=api_gap_seconds(timing.lease_seconds)
    )
