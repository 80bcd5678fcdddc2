"""The worker and beat as processes of their own, which die and come back, and a Valkey that restarts under them."""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
import redis

from control.jobs.beat import run_beat
from control.jobs.worker import run_jobs
from control.operations.plane import Timing
from control.store.job_runs import Lock
from corral.logs import configure_logs
from corral.stack.valkey import EmbeddedValkey
from tests.forked import ForkedProcess

#: Every sweep runs each second, or each two.
LEASE_SECONDS = 2


def run_program(name: str, *, database_url: str, redis_url: str, folder: Path) -> int:
    """What `corral jobs` or `corral beat` runs, with a short lease; a warning ends it."""
    warnings.simplefilter("error")
    # The tests may run as root, and Celery then advises against it.
    warnings.filterwarnings("ignore", message="You're running the worker")
    configure_logs(log_format="json", log_level="info")
    if name == "beat":
        return run_beat(redis_url=redis_url, timing=Timing(lease_seconds=LEASE_SECONDS))
    timing = Timing(lease_seconds=LEASE_SECONDS, claim_limit_seconds=60)
    return run_jobs(database_url=database_url, redis_url=redis_url, artifacts_folder=folder, timing=timing)


class Processes:
    """Starts the two programs, and keeps what they wrote."""

    def __init__(self, database_url: str, redis_url: str, folder: Path) -> None:
        self._run = partial(run_program, database_url=database_url, redis_url=redis_url, folder=folder)
        self._log = folder / "log"
        self.started: list[ForkedProcess] = []

    def start(self, name: str) -> ForkedProcess:
        self.started.append(ForkedProcess(self._run, name, env=os.environ, log=self._log))
        return self.started[-1]

    def events(self) -> set[str]:
        lines = self._log.read_text().splitlines()
        return {json.loads(line)["event"] for line in lines if line.startswith("{")}

    def has_lost_its_broker(self) -> bool:
        return any("Connection to broker lost" in event or "jobs.begin_anew" in event for event in self.events())

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait(10)
        sys.stdout.write(self._log.read_text())  # shown by pytest where a test fails


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """A Valkey that may be stopped."""
    server = EmbeddedValkey(tmp_path / "valkey")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def processes(database_url: str, server: EmbeddedValkey, tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(database_url, server.url, tmp_path)
    yield processes
    processes.end()


@pytest.fixture
def submit_unheard(plane_at, absent_redis_url, submit) -> Callable[[], object]:
    """Submits a task whose ring is lost."""
    plane = plane_at(absent_redis_url)
    return lambda: submit(plane)


@pytest.fixture
def assigning_is_blocked(database_url: str) -> Callable[[], AbstractContextManager[Callable[[], bool]]]:
    """Keeps every run of assign_tasks waiting; answers a function that tells whether one waits."""

    @contextmanager
    def assigning_is_blocked() -> Iterator[Callable[[], bool]]:
        with psycopg.connect(database_url) as blocker, psycopg.connect(database_url, autocommit=True) as watcher:
            blocker.execute("SELECT pg_advisory_xact_lock(%s)", [int(Lock.ASSIGN_TASKS)])
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            yield lambda: watcher.execute(waiting).fetchone() != (0,)

    return assigning_is_blocked


def test_a_worker_killed_in_the_middle_of_a_job_loses_nothing_and_beat_finds_lost_rings(
    processes, assigning_is_blocked, submit_unheard, with_device, is_assigned, eventually
):
    with assigning_is_blocked() as is_waited_for:
        first = processes.start("jobs")
        processes.start("beat")
        task_id = submit_unheard()
        eventually(is_waited_for, within_seconds=20)
        first.kill()
        first.wait(10)
    processes.start("jobs")
    eventually(lambda: is_assigned(task_id), within_seconds=20)


def test_worker_and_beat_outlive_a_restart_of_valkey_and_end_what_they_do_on_sigterm(
    processes, server, assigning_is_blocked, submit_unheard, with_device, is_assigned, eventually
):
    with assigning_is_blocked() as is_waited_for:
        jobs, beat = processes.start("jobs"), processes.start("beat")
        eventually(is_waited_for, within_seconds=20)
        server.stop()
        # With a job in the middle of its run, so that its message cannot be acknowledged any more.
        eventually(processes.has_lost_its_broker, within_seconds=20)
    server.start()
    with redis.Redis.from_url(server.url) as client:
        client.flushall()  # as if it kept nothing on disk
    with assigning_is_blocked() as is_waited_for:
        task_id = submit_unheard()
        eventually(is_waited_for, within_seconds=30)
        for process in (jobs, beat):
            process.send_signal(signal.SIGTERM)
        assert beat.wait(10) == 0
        assert jobs.poll() is None
    assert jobs.wait(10) == 0
    assert is_assigned(task_id)
    assert {"jobs.started", "beat.started", "jobs.stopped", "beat.stopped"} <= processes.events()
