"""The process that runs jobs: what `corral jobs` starts."""

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog
from celery.worker import state  # pyright: ignore[reportMissingTypeStubs] - Celery has no types

from control.jobs.celery_app import CeleryApp, celery_app
from control.jobs.front_door import FrontDoor, register_front_door
from control.jobs.logs import keep_celery_off_the_logs
from control.jobs.plane import open_plane
from control.jobs.pool import ThreadPool
from control.jobs.revokes import PanelRevokes, register_revokes
from control.jobs.runs import JobRunner, register_jobs
from control.jobs.schedule import JobQueue, ScheduledJob, scheduled_jobs
from control.jobs.state_file import check_state_file, close_state_file
from control.operations.plane import Timing
from control.signals.gate import DoorbellGate

log = structlog.get_logger()
worker_state: Any = state

#: Jobs wait for Postgres most of their time; each thread has a connection of its own.
CONCURRENCY = 4
#: After a worker ended by itself: long enough to be no busy loop.
BEGIN_ANEW_SECONDS = 1.0


def run_jobs(
    *,
    database_url: str,
    redis_url: str,
    artifacts_folder: Path,
    timing: Timing,
    concurrency: int = CONCURRENCY,
    queues: Sequence[JobQueue] = tuple(JobQueue),
    name: str = "jobs",
    celery_submitter: str | None = None,
    celery_queue: str = "celery",
    state_file: Path | None = None,
) -> int:
    """Run jobs until SIGTERM, which lets those that run come to their end; answers the exit code.

    Call it in the main thread, with logging configured. In a cluster, give `JobQueue.REAP` a process of its own. `name`
    is what stands before the `@` in Celery's list of workers: two on one machine need two names. With a
    `celery_submitter`, a worker of the `JobQueue.JOBS` also takes in what Celery clients send to `celery_queue`. What
    it could not cancel when Celery clients revoked it, is remembered in `state_file` from one start to the next.

    Raises:
        StateFileUnusable: the file is none, or cannot be written.
    """
    if state_file is not None:
        check_state_file(state_file)
    nodename = f"{name}@{socket.gethostname()}"
    plane = open_plane(
        database_url=database_url,
        redis_url=redis_url,
        artifacts_folder=artifacts_folder,
        timing=timing,
        # One more, for revokes.
        pool_size=concurrency + 1,
        application_name=f"corral {name}",
    )
    gate = DoorbellGate(redis_url)
    runner = JobRunner(plane, gate=gate, ran_by=nodename)
    door = None
    if celery_submitter is not None and JobQueue.JOBS in queues:
        door = FrontDoor(plane, redis_url, submitter=celery_submitter, queue=celery_queue)
    revokes = PanelRevokes(plane, keeps_unknown=celery_submitter is not None)
    keep_celery_off_the_logs()
    options = worker_options(
        nodename=nodename, concurrency=concurrency, queues=queues, door=door, state_file=state_file
    )
    log.info("jobs.started", worker=nodename, queues=options["queues"], concurrency=concurrency)
    try:
        return _work_until_asked_to_stop(
            lambda: worker_app(redis_url, scheduled_jobs(timing), runner, door=door, revokes=revokes), options
        )
    finally:
        gate.close()
        revokes.close()
        if door is not None:
            door.close()
        plane.database.close()
        log.info("jobs.stopped", worker=nodename)


def _work_until_asked_to_stop(make_app: Callable[[], CeleryApp], options: dict[str, Any]) -> int:
    while True:
        worker = make_app().Worker(**options)
        worker.start()
        close_state_file(worker)
        if _stop_was_asked_for():
            return worker.exitcode or 0
        # When Redis goes away while a job runs, kombu may fail to hand the message back over the closed connection,
        # and Celery takes that for the end of the worker. Nothing is lost, so it begins anew.
        log.warning("jobs.begin_anew", worker=options["hostname"], after_seconds=BEGIN_ANEW_SECONDS)
        time.sleep(BEGIN_ANEW_SECONDS)


def worker_app(
    redis_url: str,
    jobs: Sequence[ScheduledJob],
    runner: JobRunner,
    *,
    door: FrontDoor | None = None,
    revokes: PanelRevokes | None = None,
) -> CeleryApp:
    """The application of a worker: it knows the jobs and, where the front door is open, the task of clients."""
    app = celery_app(redis_url)
    register_jobs(app, jobs, runner)
    if revokes is not None:
        register_revokes(app, revokes)
    if door is not None:
        register_front_door(app, door)
    return app


def _stop_was_asked_for() -> bool:
    return worker_state.should_stop is not None or worker_state.should_terminate is not None


def worker_options(
    *,
    nodename: str,
    concurrency: int,
    queues: Sequence[JobQueue],
    door: FrontDoor | None = None,
    state_file: Path | None = None,
) -> dict[str, Any]:
    """How a worker of Corral is set up, for a program and for a thread of a program alike."""
    return {
        "hostname": nodename,
        "pool": ThreadPool,
        "concurrency": concurrency,
        "queues": [*(queue.value for queue in queues), *([door.queue] if door else [])],
        # Flower lives on events and heartbeats. Gossip and mingle are talk among workers, which ours have no use for
        # and which costs each of them a start-up second and a message per heartbeat of every other.
        "task_events": True,
        "without_heartbeat": False,
        "without_gossip": True,
        "without_mingle": True,
        "statedb": str(state_file) if state_file else None,
        "loglevel": "INFO",
        "quiet": True,
    }
