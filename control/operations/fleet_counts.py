"""The state of the whole fleet in numbers, for those who watch it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from control.operations.plane import Plane
from control.store import fleet_counts as store
from corral.contract.fleet import DeviceState
from corral.contract.task_status import TaskStatus

_BUSY: Final = (TaskStatus.ASSIGNED, TaskStatus.DISPATCHED)
#: In thirds of a lease; `fresh` is what a lease is whose last renewal came in time.
REMAINING: Final = ("fresh", "aging", "low", "expired")
HOST_STATES: Final = ("online", "draining", "offline")
#: As their hosts last said; `host_offline` for those of which nobody can say anything now.
DEVICE_STATES: Final = (*(state.value for state in DeviceState), "host_offline")


@dataclass(frozen=True, slots=True)
class FleetCounts:
    """What there is at one moment. Where there is nothing of a kind there is a 0."""

    #: By status; tasks that have ended are not counted here, for there may be millions.
    tasks: Mapping[str, int]
    oldest_queued_seconds: float
    #: Pending cancels by the status of their task.
    cancels: Mapping[str, int]
    oldest_cancel_seconds: float
    leases: Mapping[str, int]
    hosts: Mapping[str, int]
    devices: Mapping[str, int]
    #: How long ago each job ran, and the API was alive, for those that ever were.
    run_ages_seconds: Mapping[str, float]


def count_fleet(plane: Plane) -> FleetCounts:
    """Look once. Costs some milliseconds, and more where very many tasks are queued."""
    with plane.database.transaction() as tx:
        row = store.fleet_counts(tx, lease_seconds=plane.timing.lease_seconds)
    return FleetCounts(
        tasks={TaskStatus.QUEUED.value: row["queued"], **_each([status.value for status in _BUSY], row["busy"])},
        oldest_queued_seconds=float(row["oldest_queued_seconds"] or 0),
        cancels=_each([status.value for status in _BUSY], row["cancelling"]),
        oldest_cancel_seconds=float(row["oldest_cancel_seconds"] or 0),
        leases=_each(REMAINING, row["leases"]),
        hosts=_each(HOST_STATES, row["hosts"]),
        devices=_each(DEVICE_STATES, row["devices"]),
        run_ages_seconds=row["runs"] or {},
    )


def _each(names: Iterable[str], counted: Mapping[str, int] | None) -> dict[str, int]:
    return {name: (counted or {}).get(name, 0) for name in names}
