"""Give queued tasks to free devices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import RowMapping

from control.domain.requirements import device_labels, unmet
from control.operations.plane import Job, Plane
from control.store import job_runs, transitions
from control.store.database import Transaction, retried_on_deadlock
from control.store.hosts import allocatable_devices
from control.store.tasks import first_of_class, queued_classes
from control.store.transitions import Booking
from corral.contract.tasks import Requirement
from corral.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class _Candidate:
    task_id: UUID
    priority: int
    requirement_class: str


@retried_on_deadlock
def assign_tasks(plane: Plane) -> int:
    """Give each free device the first queued task that it suits; answers how many tasks found a device.

    One pass at a time: a pass that was asked for while another runs waits for it, and sees what that one left. The
    queue is read class by class, so tasks that no device suits never stand in the way of others.
    """
    with plane.database.transaction() as tx:
        job_runs.wait_for_lock(tx, job_runs.Lock.ASSIGN_TASKS)
        assigned = transitions.assign(tx, _bookings(tx))
        host_ids = {row["host_id"] for row in assigned}
        if host_ids:
            tx.after_commit(lambda: plane.wakeups.wake_hosts(host_ids))
    failpoint("assign.committed")
    return len(assigned)


@retried_on_deadlock
def fail_impatient_tasks(plane: Plane) -> int:
    """End queued tasks that have waited for longer than their `queue_timeout_seconds`."""
    with plane.database.transaction() as tx:
        return len(transitions.fail_impatient(tx))


def _bookings(tx: Transaction) -> list[Booking]:
    devices = {row["device_id"]: row for row in allocatable_devices(tx)}
    if not devices:
        return []
    suiting = {row["requirement_class"]: _suiting(row["requires"], devices.values()) for row in queued_classes(tx)}
    candidates = [
        _Candidate(row["task_id"], row["priority"], name)
        for name, device_ids in suiting.items()
        for row in (first_of_class(tx, name, limit=len(device_ids)) if device_ids else ())
    ]
    return list(_matched(candidates, suiting, devices))


def _suiting(requires: list[dict[str, object]], devices: Iterable[RowMapping]) -> list[UUID]:
    conditions = [Requirement.model_validate(one) for one in requires]
    return [row["device_id"] for row in devices if not unmet(conditions, device_labels(row))]


def _matched(
    candidates: list[_Candidate], suiting: Mapping[str, list[UUID]], devices: Mapping[UUID, RowMapping]
) -> Iterable[Booking]:
    """Urgent before old before young; each takes the free device that the fewest other classes could use."""
    wanted = {device_id: sum(device_id in suited for suited in suiting.values()) for device_id in devices}
    free = set(devices)
    for candidate in sorted(candidates, key=lambda one: (-one.priority, one.task_id)):
        possible = [device_id for device_id in suiting[candidate.requirement_class] if device_id in free]
        if possible:
            device_id = min(possible, key=lambda one: (wanted[one], one))
            free.remove(device_id)
            yield Booking(candidate.task_id, devices[device_id]["host_id"], device_id)


def ring_for_capacity(plane: Plane, tx: Transaction) -> None:
    """After the commit, have the queue looked at: a device has become free, or a task has come back."""
    tx.after_commit(lambda: plane.doorbell.ring(Job.ASSIGN_TASKS))
