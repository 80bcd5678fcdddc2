"""Give queued tasks to free devices."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from control.domain.queue_order import Head, QueueOrder
from control.domain.requirements import device_labels
from control.domain.suitability import Crowding, Suitability, numbers_in
from control.operations.plane import Job, Plane
from control.store import job_runs, transitions
from control.store.database import Transaction, retried_on_deadlock
from control.store.label_sets import LabelSetKey, example_devices, free_devices
from control.store.queue import first_of_classes, queued_classes, requirements_of_classes
from control.store.transitions import Booking
from corral.contract.tasks import Requirement
from corral.failpoints import failpoint
from corral.traces.spans import work

#: So many tasks are given away in one transaction: their hosts hear of them before the next ones are looked at.
MAX_BOOKINGS = 500


def assign_tasks(plane: Plane) -> int:
    """Give each free device the first queued task that it suits; answers how many tasks found a device.

    One pass at a time: a pass that was asked for while another runs waits for it, and sees what that one left. The
    queue is read class by class, so tasks that no device suits never stand in the way of others; and devices that are
    alike are read together, so what a pass costs depends on neither's number.
    """
    total = 0
    while assigned := _pass(plane):
        total += assigned
        if assigned < MAX_BOOKINGS:
            break
    return total


@retried_on_deadlock
def _pass(plane: Plane) -> int:
    with work("assign") as traced, plane.database.transaction() as tx:
        job_runs.wait_for_lock(tx, job_runs.Lock.ASSIGN_TASKS)
        assigned = transitions.assign(tx, _bookings(tx, plane.suitability))
        host_ids = {row["host_id"] for row in assigned}
        if host_ids:
            tx.after_commit(lambda: plane.wakeups.wake_hosts(host_ids))
        for row in assigned:
            traced.serve(row["task_id"], host_id=row["host_id"])
    failpoint("assign.committed")
    return len(assigned)


@retried_on_deadlock
def fail_impatient_tasks(plane: Plane) -> int:
    """End queued tasks that have waited for longer than their `queue_timeout_seconds`."""
    with work("give up waiting") as traced, plane.database.transaction() as tx:
        failed = transitions.fail_impatient(tx)
        for row in failed:
            traced.serve(row["task_id"], outcome=row["status"])
        return len(failed)


def _bookings(tx: Transaction, suitability: Suitability) -> list[Booking]:
    suitability.begin_pass()
    classes = _known_classes(tx, suitability)
    free = _known_free_devices(tx, suitability, classes) if classes else {}
    if not free:
        return []
    present = _collection(free)
    suiting = {name: sets for name in classes if (sets := suitability.suiting(name, present))}
    most = {name: min(MAX_BOOKINGS, sum(len(free[one]) for one in numbers_in(sets))) for name, sets in suiting.items()}
    queue = QueueOrder(lambda limits: _heads(tx, limits), most)
    bookings = islice(_matched(queue, suiting, free), MAX_BOOKINGS)
    return sorted(bookings, key=lambda booking: booking.task_id)


def _known_classes(tx: Transaction, suitability: Suitability) -> Sequence[str]:
    """The classes that are queued, with their conditions learned."""
    classes = queued_classes(tx)
    for row in requirements_of_classes(tx, suitability.unknown_classes(classes)):
        requires: list[dict[str, Any]] = row["requires"]
        suitability.learn_class(row["requirement_class"], [Requirement.model_validate(one) for one in requires])
    # A class whose last task has left the queue meanwhile remains unknown.
    gone = set(suitability.unknown_classes(classes))
    return [name for name in classes if name not in gone]


def _known_free_devices(tx: Transaction, suitability: Suitability, classes: Sequence[str]) -> dict[int, list[str]]:
    """The free devices by the number of their label set, with the labels learned."""
    asked = suitability.asked_labels(classes)
    groups = free_devices(tx, by_host="host" in asked, by_serial="serial" in asked, limit=MAX_BOOKINGS)
    unknown = {groups[key][0]: key for key in suitability.unknown_sets(groups)}
    for row in example_devices(tx, list(unknown)):
        key = unknown[str(row["device_id"])]
        suitability.learn_set(key, _shared_labels(key, device_labels(row)))
    return {suitability.number(key): device_ids for key, device_ids in groups.items()}


def _shared_labels(key: LabelSetKey, labels: Mapping[str, str]) -> dict[str, str]:
    """What is not in the key of a label set differs between its devices, so no class asks for it."""
    apart = {"host"} if key.host_name is None else set[str]()
    apart |= {"serial"} if key.serial is None else set()
    return {name: value for name, value in labels.items() if name not in apart}


def _heads(tx: Transaction, limits: Mapping[str, int]) -> Iterator[Head]:
    for row in first_of_classes(tx, limits):
        yield Head(row["requirement_class"], row["priority"], row["created_at"], row["task_id"])


def _matched(queue: QueueOrder, suiting: Mapping[str, int], free: Mapping[int, list[str]]) -> Iterator[Booking]:
    """Each task takes a free device of the label set that the fewest classes could use."""
    crowding = Crowding(suiting.values())
    available = _collection(free)
    while available and (head := queue.pop()):
        # A class that no device is left for stays where it is: its other tasks are not looked at.
        if possible := suiting[head.requirement_class] & available:
            number = crowding.least_wanted(possible)
            yield Booking(head.task_id, UUID(free[number].pop()))
            if not free[number]:
                available ^= 1 << number
            queue.advance(head.requirement_class)


def _collection(numbers: Mapping[int, object]) -> int:
    sets = 0
    for number in numbers:
        sets |= 1 << number
    return sets


def ring_for_capacity(plane: Plane, tx: Transaction) -> None:
    """After the commit, have the queue looked at: a device has become free, or a task has come back."""
    tx.after_commit(lambda: plane.doorbell.ring(Job.ASSIGN_TASKS))
