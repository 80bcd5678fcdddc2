"""How a job runs: a few lines around one operation, the same for all of them."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import redis
import structlog

from control.jobs.celery_app import CeleryApp
from control.jobs.metrics import JOB_ROWS, JOB_RUNS, JOB_SECONDS, show_jobs
from control.jobs.schedule import ScheduledJob, ring_name, sweep_name
from control.jobs.turns import Turns
from control.operations.cadence import run_if_due
from control.operations.cancels import CancelsNotTold
from control.operations.plane import Job, Plane
from control.signals.gate import DoorbellGate

log = structlog.get_logger()

#: A task that is submitted alone is looked at at once; of a hundred in a second, several are looked at together. The
#: gate stays shut meanwhile, so what is saved is the rings too.
RINGS_APART_SECONDS = 0.02


class JobRunner:
    """Runs jobs in one worker process. For all its threads."""

    def __init__(self, plane: Plane, *, gate: DoorbellGate, ran_by: str) -> None:
        self._plane = plane
        self._gate = gate
        self._ran_by = ran_by
        # Rung jobs wait for each other in Postgres too, but there each would hold a thread and a connection.
        self._turns = {job.value: Turns(apart_seconds=RINGS_APART_SECONDS) for job in Job}

    def sweep(self, job: ScheduledJob) -> None:
        """Run the job if it is due, whoever ticked it."""
        self._logged(
            job,
            lambda plane: run_if_due(
                plane,
                job.name,
                period_seconds=job.period_seconds,
                ran_by=self._ran_by,
                operation=job.operation,
            ),
        )

    def answer_ring(self, job: ScheduledJob) -> None:
        """Run the job now, due or not; nothing where another ring waits for its turn here and will do it."""
        with self._turns[job.name].turn() as is_mine:
            if is_mine:
                # First, so that what is committed from here on rings again.
                self._reopen_gate(job)
                self._logged(job, job.operation)

    def _reopen_gate(self, job: ScheduledJob) -> None:
        try:
            self._gate.reopen(job.name)
        except redis.RedisError as error:
            log.warning("doorbell.gate_stuck", job=job.name, error=str(error))

    def _logged(self, job: ScheduledJob, operation: Callable[[Plane], int | None]) -> None:
        started_at = time.monotonic()
        try:
            count = operation(self._plane)
        except CancelsNotTold as reason:
            _count(job, "repeated", started_at)
            log.warning("job.to_be_repeated", job=job.name, reason=str(reason))
            raise
        except Exception:
            # Not tried again: the next tick is that.
            _count(job, "failed", started_at)
            log.exception("job.failed", job=job.name, ms=_ms_since(started_at))
            raise
        if count is None:
            JOB_RUNS.labels(job.name, "not_due").inc()
        else:
            _count(job, "done", started_at)
            JOB_ROWS.labels(job.name).inc(count)
            say = log.info if count else log.debug
            say("job.ran", job=job.name, count=count, ms=_ms_since(started_at))


#: A ring whose work could not be passed on is rung again by Celery, some times, before that is left to the sweep.
_REPEATED: dict[str, Any] = {
    "autoretry_for": (CancelsNotTold,),
    "max_retries": 5,
    "retry_backoff": True,
    "retry_backoff_max": 5,
    "retry_jitter": True,
}


_REGISTERED: dict[str, Any] = {
    # Celery would otherwise give the job, with this runner, to every other application in the process.
    "shared": False,
    # Several jobs a second, day and night: in Flower they would bury the tasks of devices.
    "send_events": False,
}


def register_jobs(app: CeleryApp, jobs: Iterable[ScheduledJob], runner: JobRunner) -> None:
    """Give the worker every job under its sweep's name, and those with a doorbell under their ring's name too."""
    jobs = tuple(jobs)
    show_jobs(job.name for job in jobs)
    for job in jobs:
        app.task(_bound(runner.sweep, job), name=sweep_name(job.name), **_REGISTERED)
        if job.name in set(Job):
            app.task(_bound(runner.answer_ring, job), name=ring_name(job.name), **_REGISTERED, **_REPEATED)


def _bound(run: Callable[[ScheduledJob], None], job: ScheduledJob) -> Callable[[], None]:
    def run_job() -> None:
        run(job)

    return run_job


def _count(job: ScheduledJob, outcome: str, started_at: float) -> None:
    JOB_RUNS.labels(job.name, outcome).inc()
    JOB_SECONDS.labels(job.name).observe(time.monotonic() - started_at)


def _ms_since(started_at: float) -> int:
    return round((time.monotonic() - started_at) * 1000)
