"""The process that runs jobs: what `corral jobs` starts."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog

from control.jobs.celery_app import celery_app
from control.jobs.logs import keep_celery_off_the_logs
from control.jobs.plane import open_plane
from control.jobs.runs import JobRunner, register_jobs
from control.jobs.schedule import JobQueue, scheduled_jobs
from control.operations.plane import Timing
from control.signals.gate import DoorbellGate

log = structlog.get_logger()

#: Jobs wait for Postgres most of their time; each thread has a connection of its own.
CONCURRENCY = 4


def run_jobs(
    *,
    database_url: str,
    redis_url: str,
    artifacts_folder: Path,
    timing: Timing,
    concurrency: int = CONCURRENCY,
    queues: Sequence[JobQueue] = tuple(JobQueue),
    name: str = "jobs",
) -> int:
    """Run jobs until SIGTERM, which lets those that run come to their end; answers the exit code.

    Call it in the main thread, with logging configured. In a cluster, give `JobQueue.REAP` a process of its own. `name`
    is what stands before the `@` in Celery's list of workers: two on one machine need two names.
    """
    nodename = f"{name}@{socket.gethostname()}"
    runner = JobRunner(
        open_plane=lambda: open_plane(
            database_url=database_url,
            redis_url=redis_url,
            artifacts_folder=artifacts_folder,
            timing=timing,
            pool_size=concurrency,
            application_name=f"corral {name}",
        ),
        gate=DoorbellGate(redis_url),
        ran_by=nodename,
    )
    app = celery_app(redis_url)
    register_jobs(app, scheduled_jobs(timing), runner)
    keep_celery_off_the_logs()
    worker = app.Worker(**worker_options(nodename=nodename, concurrency=concurrency, queues=queues))
    log.info("jobs.started", worker=nodename, queues=[queue.value for queue in queues], concurrency=concurrency)
    try:
        worker.start()
    finally:
        runner.close()
        log.info("jobs.stopped", worker=nodename)
    return worker.exitcode or 0


def worker_options(*, nodename: str, concurrency: int, queues: Sequence[JobQueue]) -> dict[str, Any]:
    """How a worker of Corral is set up, for a program and for a thread of a program alike."""
    return {
        "hostname": nodename,
        "pool": "threads",
        "concurrency": concurrency,
        "queues": [queue.value for queue in queues],
        # Flower lives on events and heartbeats. Gossip and mingle are talk among workers, which ours have no use for
        # and which costs each of them a start-up second and a message per heartbeat of every other.
        "task_events": True,
        "without_heartbeat": False,
        "without_gossip": True,
        "without_mingle": True,
        "loglevel": "INFO",
        "quiet": True,
    }
