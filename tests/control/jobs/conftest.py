"""A Celery worker in a thread, planes over real servers, and a device that waits for work."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from celery.app.trace import reset_worker_optimizations, setup_worker_optimizations

from control.jobs.celery_app import celery_app
from control.jobs.plane import open_plane
from control.jobs.runs import JobRunner, register_jobs
from control.jobs.schedule import JobQueue, ScheduledJob
from control.jobs.worker import worker_options
from control.operations.hosts import heartbeat, register_host
from control.operations.plane import Plane, Timing
from control.operations.submit import submit_task
from control.operations.tasks import show_task
from control.signals.gate import DoorbellGate
from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import Heartbeat, HostRegistration, ReportedDevice
from corral.contract.tasks import TaskKind, TaskSubmission
from tests.control.fleet import SUBMITTER
from tests.control.redis_conditions import absent_redis_url, redis_url, silent_redis_url
from tests.control.working import working

__all__ = ["absent_redis_url", "redis_url", "silent_redis_url"]

FLOW = "appId: com.example\n---\n- back\n"

Eventually = Callable[..., None]


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    def eventually(condition: Callable[[], object], *, within_seconds: float = 10.0) -> None:
        deadline = time.monotonic() + within_seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {within_seconds} seconds"
            time.sleep(0.01)

    return eventually


@pytest.fixture
def plane_at(database_url: str, tmp_path: Path) -> Iterator[Callable[[str], Plane]]:
    """Opens planes over this test's database and the Redis of an address."""
    planes: list[Plane] = []

    def plane_at(redis_url: str) -> Plane:
        planes.append(
            open_plane(
                database_url=database_url,
                redis_url=redis_url,
                artifacts_folder=tmp_path / "artifacts",
                timing=Timing(),
                pool_size=4,
                application_name="test",
            )
        )
        return planes[-1]

    yield plane_at
    for plane in planes:
        plane.database.close()


@pytest.fixture
def plane(plane_at: Callable[[str], Plane], redis_url: str) -> Plane:
    return plane_at(redis_url)


@pytest.fixture
def start_worker(redis_url: str, plane: Plane) -> Iterator[Callable[..., JobRunner]]:
    """Starts a worker in a thread that runs these jobs; it has ended when the test has."""
    ends = ExitStack()

    def start_worker(*jobs: ScheduledJob) -> JobRunner:
        gate = DoorbellGate(redis_url)
        runner = JobRunner(plane, gate=gate, ran_by="test")
        app = celery_app(redis_url)
        register_jobs(app, jobs, runner)
        # The program does this too: without it, threads of the pool look for the job in Celery's default application.
        setup_worker_optimizations(app, "test@here")
        for end in (app.close, partial(reset_worker_optimizations, app), gate.close):
            ends.callback(end)
        ends.enter_context(working(app, worker_options(nodename="test@here", concurrency=4, queues=list(JobQueue))))
        return runner

    with ends:
        yield start_worker


@pytest.fixture
def submit() -> Callable[[Plane], object]:
    """Submits one task; answers its id."""

    def submit(plane: Plane):
        submission = TaskSubmission(kind=TaskKind.FLOW, flow=FLOW)
        return submit_task(plane, submission, principal=SUBMITTER, idempotency_key=None).task.task_id

    return submit


@pytest.fixture
def is_assigned(plane: Plane):
    def is_assigned(task_id: object) -> bool:
        return show_task(plane, task_id).status == "assigned"

    return is_assigned


@pytest.fixture
def with_device(plane_at: Callable[[str], Plane], absent_redis_url: str) -> None:
    """One host with one free device, which nobody was told of."""
    plane = plane_at(absent_redis_url)
    host_id = register_host(plane, HostRegistration(name="bench")).host_id
    device = ReportedDevice(serial="emulator-1", state=DeviceState.READY)
    heartbeat(plane, host_id, Heartbeat(incarnation=uuid4(), devices=[device]))
