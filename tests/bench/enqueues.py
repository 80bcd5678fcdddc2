"""What it costs to put a task into the queue, with and without telling anybody, beside the peers' way to do it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from control.operations.plane import Job, Plane
from tests.bench.peers.race import Enqueue
from tests.bench.rounds import Sample, in_turns, rate_row, take
from tests.bench.row import Row
from tests.bench.sizes import ROUNDS, scaled
from tests.bench.stand import Stand
from tests.control.fleet import Fleet

TASKS = scaled(300, least=50)


@dataclass
class _Silence:
    def ring(self, job: Job) -> None:
        """Nobody is told; a sweep would find the task."""


def enqueue_rows(stand: Stand, peer_queues: Mapping[str, Enqueue]) -> list[Row]:
    """Rates of one thread that enqueues one task after the other, each in a transaction of its own."""
    plane = stand.open_plane(pool_size=1)
    contestants: dict[str, Callable[[], int]] = {
        "enqueue_without_wakeups": partial(_submit, replace(plane, doorbell=_Silence())),
        "enqueue_with_wakeups": partial(_submit, plane),
    }
    contestants |= {f"enqueue_{name}": partial(_enqueued, enqueue) for name, enqueue in peer_queues.items()}
    turns = {name: partial(_take, stand, action) for name, action in contestants.items()}
    taken = in_turns(turns, rounds=ROUNDS)
    plane.database.close()
    floor = "enqueue_without_wakeups"
    return [rate_row(name, taken, floor=None if name == floor else floor) for name in turns]


def _take(stand: Stand, action: Callable[[], int]) -> Sample:
    return take(action, stand.cpu_of("postgres", "valkey"))


def _submit(plane: Plane) -> int:
    fleet = Fleet(plane)
    for _ in range(TASKS):
        fleet.submit()
    return TASKS


def _enqueued(enqueue: Enqueue) -> int:
    enqueue(TASKS)
    return TASKS
