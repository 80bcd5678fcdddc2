"""The clock that ticks the jobs: what `corral beat` starts.

One is meant to run; none or two will happen. Two do no harm, for the cadence rows let each job run once per period;
with none, the API notices by the same rows.
"""

from collections.abc import Mapping
from typing import Any

import structlog
from celery import signals  # pyright: ignore[reportMissingTypeStubs] - Celery has no types

from control.jobs.celery_app import celery_app
from control.jobs.logs import keep_celery_off_the_logs
from control.jobs.metrics import BEAT_TICKS, show_ticks
from control.jobs.schedule import scheduled_jobs, sweep_name
from control.operations.plane import Timing

log = structlog.get_logger()

_after_publish: Any = signals.after_task_publish

#: Beat does one thing after the other: while it waits for a silent broker, nothing ticks.
SOCKET_LIMIT_SECONDS = 3.0


def run_beat(*, redis_url: str, timing: Timing) -> int:
    """Tick all jobs until SIGTERM; answers the exit code. Keeps nothing on disk.

    Call it in the main thread, with logging configured.
    """
    jobs = scheduled_jobs(timing)
    app = celery_app(
        redis_url,
        jobs=jobs,
        socket_limit_seconds=SOCKET_LIMIT_SECONDS,
        connect_limit_seconds=SOCKET_LIMIT_SECONDS,
    )
    keep_celery_off_the_logs()
    _count_ticks({sweep_name(job.name): job.name for job in jobs})
    log.info("beat.started", jobs=[job.name for job in jobs])
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="INFO", quiet=True).run()
    log.info("beat.stopped")
    return 0


def _count_ticks(job_names: Mapping[str, str]) -> None:
    show_ticks(job_names.values())

    def count(*, sender: str, **_: Any) -> None:
        if sender in job_names:
            BEAT_TICKS.labels(job_names[sender]).inc()

    # Celery knows a receiver by its identity alone, and lets go of one that nobody else holds.
    _after_publish.connect(count, weak=False, dispatch_uid="corral ticks")
