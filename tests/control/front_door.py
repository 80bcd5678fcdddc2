"""A front door over real servers: a worker in a thread, a client that has Celery alone, and hosts that do the work."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import redis
from celery import Celery
from celery.app.trace import reset_worker_optimizations, setup_worker_optimizations
from celery.result import AsyncResult

from control.artifacts import ArtifactFolder
from control.flower.results import ResultPublisher
from control.jobs.celery_app import CeleryApp
from control.jobs.front_door import FrontDoor
from control.jobs.front_door_app import TASK_NAME, close_front_door_app, front_door_app
from control.jobs.runs import JobRunner
from control.jobs.worker import worker_app, worker_options
from control.operations.plane import Plane
from control.operations.tasks import show_task
from control.signals.gate import DoorbellGate
from control.store.database import Database
from control.store.tasks import task_exists
from corral.contract.host_protocol import Assignment
from corral.stack.valkey import EmbeddedValkey
from tests.conftest import EMPTY
from tests.control.fleet import FLOW, Fleet, Host, RecordedRings, RecordedWakeups
from tests.control.working import forget_closed_pools, working

#: Celery's result backend uses a command that redis-py wants replaced.
CELERY_STORES_AS_IT_DOES = "ignore:Call to deprecated setex:DeprecationWarning"
SUBMITTER = "robots"
QUEUE = "celery"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FrontDoorWorld:
    plane: Plane
    client: Any
    answering: CeleryApp
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.plane)
        self.publisher = ResultPublisher(self.answering, self.plane, clock=self.clock)
        self._serials = (f"PHONE{number}" for number in itertools.count(1))

    def host(self) -> Host:
        return self.fleet.host(next(self._serials))

    def send(self, *args: Any, flow: str = FLOW, options: dict[str, Any] | None = None, **fields: Any) -> AsyncResult:
        return self.client.send_task(TASK_NAME, args=args, kwargs={"flow": flow, **fields}, **(options or {}))

    def signature(self, **fields: Any) -> Any:
        return self.client.signature(TASK_NAME, kwargs={"flow": FLOW, **fields})

    def accepted(self, *args: Any, **more: Any) -> AsyncResult:
        """A task that was sent and is in the queue of devices."""
        sent = self.send(*args, **more)
        self.wait_for(sent.id)
        return sent

    def wait_for(self, task_id: str) -> None:
        """Until the task is taken in. Its state is told a moment before."""
        until(lambda: self._is_taken_in(UUID(task_id)))

    def _is_taken_in(self, task_id: UUID) -> bool:
        with self.plane.database.statement() as tx:
            return task_exists(tx, task_id)

    def publish(self) -> int:
        """Tell all that is due; a second has passed since the last time."""
        self.clock.now += 60
        return self.publisher.publish()

    def running(self, host: Host) -> Assignment:
        """The host takes the next task that is in the queue."""
        until(self.fleet.assign)
        assignment = host.claim()
        assert assignment is not None
        return assignment

    def run(self, host: Host, status: str = "done", **report: Any) -> UUID:
        """The host takes the next task, and ends it; whoever sent it is told."""
        assignment = self.running(host)
        host.report(assignment, status, **report)
        self.publish()
        return assignment.task_id

    def status(self, sent: AsyncResult) -> str:
        return show_task(self.plane, UUID(sent.id)).status.value


def get(sent: AsyncResult) -> Any:
    """The result, of a task that has ended. A worker in this process is no reason not to wait for one."""
    return sent.get(timeout=10, disable_sync_subtasks=False)


def get_error(sent: AsyncResult) -> Exception:
    """What waiting for the result raises."""
    try:
        result = get(sent)
    except Exception as error:  # noqa: BLE001 - any: which one it is, is what tests ask
        return error
    raise AssertionError(f"it did not fail, but has the result {result}")


def until(condition: Callable[[], object], *, within_seconds: float = 10.0) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_seconds} seconds"
        time.sleep(0.005)


@contextmanager
def opened_front_door(
    database: Database, valkey: EmbeddedValkey, *, number: int, folder: Path
) -> Iterator[FrontDoorWorld]:
    """A worker that takes in what the client sends, over the server's database of this number, which was empty."""
    redis_url = f"{valkey.url.rpartition('/')[0]}/{number}"
    with redis.Redis.from_url(redis_url) as at_first:
        at_first.flushdb()
    plane = Plane(
        database=database, doorbell=RecordedRings(), wakeups=RecordedWakeups(), artifacts=ArtifactFolder(folder)
    )
    client = Celery("client", broker=redis_url, backend=redis_url, set_as_current=False)
    client.conf.result_backend_thread_safe = True
    answering = front_door_app(redis_url, queue=QUEUE)
    door = FrontDoor(plane, redis_url, submitter=SUBMITTER, queue=QUEUE)
    with worker_in_thread(plane, redis_url, door):
        yield FrontDoorWorld(plane, client, answering)
    listening = client.backend.result_consumer
    listening.stop()
    # Results that are forgotten later would connect again, to say that nobody waits for them.
    listening.subscribed_to.clear()
    for app in (client, answering):
        close(app)
    door.close()


@contextmanager
def worker_in_thread(plane: Plane, redis_url: str, door: FrontDoor | None) -> Iterator[CeleryApp]:
    gate = DoorbellGate(redis_url)
    runner = JobRunner(plane, gate=gate, ran_by="test")
    app = worker_app(redis_url, [], runner, door=door)
    app.conf.result_backend_thread_safe = True
    setup_worker_optimizations(app, "test@here")
    # One message after the other: what was sent last is taken in last.
    with working(app, worker_options(nodename="test@here", concurrency=1, queues=[], door=door)):
        yield app
    gate.close()
    reset_worker_optimizations(app)
    close(app)


def close(app: CeleryApp) -> None:
    """Give back the connections of an application, and have the next one at this address begin with others."""
    close_front_door_app(app)
    forget_closed_pools()


def empty(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(EMPTY)
