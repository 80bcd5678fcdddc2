"""The clock that ticks the jobs: what `corral beat` starts.

One is meant to run; none or two will happen. Two do no harm, for the cadence rows let each job run once per period;
with none, the API notices by the same rows.
"""

import structlog

from control.jobs.celery_app import celery_app
from control.jobs.logs import keep_celery_off_the_logs
from control.jobs.schedule import scheduled_jobs
from control.operations.plane import Timing

log = structlog.get_logger()

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
    log.info("beat.started", jobs=[job.name for job in jobs])
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="INFO", quiet=True).run()
    log.info("beat.stopped")
    return 0
