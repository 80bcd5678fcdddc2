"""The order of the queue over many classes of tasks: urgent before old before young."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias
from uuid import UUID


class Head(NamedTuple):
    """A queued task among the first of its class."""

    requirement_class: str
    priority: int
    created_at: datetime
    task_id: UUID


#: Reads the first tasks of classes, in order, so many of each.
ReadHeads: TypeAlias = Callable[[Mapping[str, int]], Iterable[Head]]


class QueueOrder:
    """Merges the first tasks of some classes, and reads more of a class when those it has are used up.

    A class that nobody asks to `advance` costs nothing further. Reading again may show a task twice, because the queue
    moves on in between; it is told once.
    """

    def __init__(self, read: ReadHeads, most: Mapping[str, int]) -> None:
        """`most`: how many tasks of each class could be wanted at all."""
        self._read = read
        self._most = most
        # Twice as many as could be taken in all, spread over the classes; the rest is read where it is needed.
        at_first = max(4, 2 * max(most.values(), default=0) // max(len(most), 1))
        self._asked = {name: min(at_first, limit) for name, limit in most.items()}
        self._waiting: dict[str, deque[Head]] = {name: deque() for name in most}
        self._told: set[UUID] = set()
        self._fill(self._asked)
        self._heap = [self._entry(waiting[0]) for waiting in self._waiting.values() if waiting]
        heapify(self._heap)

    def pop(self) -> Head | None:
        """The next task; None where there is none. No other of its class comes before `advance`."""
        return heappop(self._heap)[-1] if self._heap else None

    def advance(self, name: str) -> None:
        """Let the next task of this class come forward."""
        waiting = self._waiting[name]
        self._told.add(waiting.popleft().task_id)
        if not waiting and self._asked[name] < self._most[name]:
            self._asked[name] = min(4 * self._asked[name], self._most[name])
            self._fill({name: self._asked[name]})
        if waiting:
            heappush(self._heap, self._entry(waiting[0]))

    def _fill(self, limits: Mapping[str, int]) -> None:
        for head in self._read(limits) if limits else ():
            if head.task_id not in self._told:
                self._waiting[head.requirement_class].append(head)

    @staticmethod
    def _entry(head: Head) -> tuple[int, datetime, UUID, Head]:
        return -head.priority, head.created_at, head.task_id, head
