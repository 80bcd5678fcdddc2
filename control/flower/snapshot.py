"""How things stand: for a consumer that has just connected, and after another bridge was the leader, or none.

A consumer that asks, by the broadcast that it begins with, was started anew, or it lost its connection and missed what
came meanwhile. It is told of what lives. What ended is over; but where Redis was away, it is told of that too, for
otherwise it would show a task as running for ever.
"""

import threading
import time
from collections.abc import Callable, Iterator

from control.flower.events import CeleryEvent, WorkerName, celery_event, live_task, received
from control.flower.workers import RollCall
from control.operations.fleet_workers import QUEUE_WORKER, WorkerView, fleet_as_workers, queued_tasks
from control.operations.plane import Plane
from control.store.event_feed import FeedEvent

#: The youngest of the queue: Flower remembers ten thousand tasks, and the others appear when their turn comes.
MOST_QUEUED = 5_000


class Requests:
    """Consumers ask from another thread, and a crowd of them is answered by one snapshot."""

    #: A consumer that asks in between waits for so long at most.
    APART_SECONDS = 1.0

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = threading.Event()
        self._not_before = 0.0

    def ask(self) -> None:
        self._asked.set()

    def take(self) -> bool:
        """Whether a snapshot is due. Whoever asks from now on gets another."""
        if not self._asked.is_set() or self._clock() < self._not_before:
            return False
        # First: a snapshot that begins after this shows what they asked for.
        self._asked.clear()
        self._not_before = self._clock() + self.APART_SECONDS
        return True


def snapshot(plane: Plane, roll_call: RollCall) -> list[CeleryEvent]:
    """All hosts that are online, all tasks that they have, and the youngest of those that wait."""
    told = roll_call.all_who_are_known()
    waiting = reversed(queued_tasks(plane, limit=MOST_QUEUED))
    queued = [event for task in waiting for event in live_task(task, QUEUE_WORKER)]
    return [*told, *queued, *(event for worker in fleet_as_workers(plane) for event in _tasks_of(worker))]


def ended_again(ends: list[FeedEvent], worker_name: WorkerName) -> list[CeleryEvent]:
    """How tasks ended, for whoever may have missed it, and perhaps their beginning too."""
    return [told for end in ends for told in _told_of(end, worker_name)]


def _tasks_of(worker: WorkerView) -> Iterator[CeleryEvent]:
    for task in (*worker.assigned, *worker.running):
        yield from live_task(task, worker.name)


def _told_of(end: FeedEvent, worker_name: WorkerName) -> Iterator[CeleryEvent]:
    told = celery_event(end, worker_name)
    if told is not None:
        yield received(end, told["hostname"])
        yield told
