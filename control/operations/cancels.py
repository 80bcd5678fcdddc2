"""Cancels that somebody else left unfinished: settle those that need no host, and tell the others once more."""

from control.operations.assign import ring_for_capacity
from control.operations.plane import Plane
from control.signals.words import LeaseOf
from control.store import transitions
from control.store.database import retried_on_deadlock
from control.store.tasks import untold_cancels
from corral.traces.spans import work


class CancelsNotTold(Exception):
    """Redis did not take the marks of pending cancels. Try again soon; hosts hear of them with their next renewal."""


@retried_on_deadlock
def settle_cancels(plane: Plane) -> int:
    """End assigned tasks whose cancel is pending: a claim skips them, so nothing has started."""
    with work("settle cancel") as traced, plane.database.transaction() as tx:
        settled = transitions.settle_assigned_cancels(tx)
        for row in settled:
            traced.serve(row["task_id"], outcome=row["status"])
        if settled:
            ring_for_capacity(plane, tx)
    return len(settled)


def reconcile_cancels(plane: Plane) -> int:
    """Mark each pending cancel once more that no host was told of: its own mark may have been lost.

    Raises:
        CancelsNotTold: nothing was marked.
    """
    with plane.database.statement() as tx:
        untold = [LeaseOf(row["host_id"], row["lease_id"]) for row in untold_cancels(tx)]
    if not plane.wakeups.tell_cancels(untold):
        raise CancelsNotTold(f"{len(untold)} cancels could not be marked")
    return len(untold)
