"""Settle cancels that need no host."""

from control.operations.assign import ring_for_capacity
from control.operations.plane import Plane
from control.store import transitions
from control.store.database import retried_on_deadlock


@retried_on_deadlock
def settle_cancels(plane: Plane) -> int:
    """End assigned tasks whose cancel is pending: a claim skips them, so nothing has started."""
    with plane.database.transaction() as tx:
        settled = transitions.settle_assigned_cancels(tx)
        if settled:
            ring_for_capacity(plane, tx)
    return len(settled)
