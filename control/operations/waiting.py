"""Why a queued task is on no device yet, in words for whoever waits."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping

from control.domain.requirements import device_labels, unmet
from control.store.database import Transaction
from control.store.label_sets import label_sets
from corral.contract.goals import AGENT_LABEL, GOALS_LABEL
from corral.contract.tasks import Requirement

#: A fleet of this many devices is counted anew for each answer; that costs a fraction of a millisecond.
SMALL_FLEET = 200
#: A larger one is counted once in so long, and in more where it is larger still: counting 100,000 devices takes a tenth
#: of a second, and nobody who waits in such a fleet is told less by a count that is some seconds old.
RECOUNT_SECONDS = 2.0
DEVICES_PER_RECOUNT_SECOND = 5_000

#: Labels that the author of a goal may never have written.
_MEANT = {
    AGENT_LABEL: f"`{AGENT_LABEL}` is the model that the device's host has for goals",
    GOALS_LABEL: f"`{GOALS_LABEL}` have the devices whose host runs goals",
}


@dataclass(frozen=True, slots=True)
class _Count:
    sets: Sequence[RowMapping]
    known: int
    good_until: float


class WaitingReasons:
    """Reasons from the state of the fleet. For all threads of a process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[tuple[bool, bool], _Count] = {}

    def reason(self, tx: Transaction, requires: Sequence[Requirement]) -> str:
        """Why a queued task with these conditions waits."""
        count = self._count(tx, {requirement.label for requirement in requires})
        if not count.known:
            return "no device is known yet: start a host with `corral host`"
        suiting = [row for row in count.sets if not unmet(requires, device_labels(row))]
        if not suiting:
            wanted = ", ".join(requirement.describe() for requirement in requires)
            meant = "".join(f"; {_MEANT[one.label]}" for one in requires if one.label in _MEANT)
            return f"none of the {count.known} known devices has what the task requires: {wanted}{meant}"
        usable, busy = (sum(row[name] for row in suiting) for name in ("usable", "busy"))
        if not usable:
            known = sum(row["known"] for row in suiting)
            return f"{known} devices suit the task, and none of them is online, ready and on a host that takes tasks"
        if busy == usable:
            return f"all {usable} devices that suit the task are busy"
        return "a device is free: the task is about to be assigned"

    def _count(self, tx: Transaction, labels: set[str]) -> _Count:
        asked = ("host" in labels, "serial" in labels)
        count = self._counts.get(asked)
        if count is None or self._clock() >= count.good_until:
            by_host, by_serial = asked
            sets = label_sets(tx, by_host=by_host, by_serial=by_serial)
            known = sum(row["known"] for row in sets)
            good_for = 0.0 if known <= SMALL_FLEET else max(RECOUNT_SECONDS, known / DEVICES_PER_RECOUNT_SECOND)
            count = self._counts[asked] = _Count(sets, known, self._clock() + good_for)
        return count
