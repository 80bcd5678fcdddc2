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

#: The youngest of the queue, and no more than Flower has room for; the others appear when their turn comes.
MOST_QUEUED = 5_000


class Requests:
    """Consumers ask from another thread, and a crowd of them is answered by one snapshot."""

    #: A consumer asks a moment before it has subscribed, and would miss an answer that is quicker than that.
    ANSWERED_AFTER_SECONDS = 0.3
    #: Who asks in between waits for so long at most.
    APART_SECONDS = 1.0

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at = 0.0
        self._due_at: float | None = None
        self._not_before = 0.0

    def ask(self) -> None:
        """Have a snapshot taken soon."""
        with self._lock:
            self._asked_at = self._clock()
            if self._due_at is None:
                self._due_at = self._earliest()

    def take(self) -> bool:
        """Whether a snapshot is due. Whoever asks from now on, or has asked just now, gets another."""
        with self._lock:
            now = self._clock()
            if self._due_at is None or now < self._due_at:
                return False
            self._not_before = now + self.APART_SECONDS
            self._due_at = self._earliest() if now < self._asked_at + self.ANSWERED_AFTER_SECONDS else None
            return True

    def _earliest(self) -> float:
        return max(self._asked_at + self.ANSWERED_AFTER_SECONDS, self._not_before)


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
