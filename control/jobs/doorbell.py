"""Asks a worker, by the name of a job, to run it soon."""

from control.jobs.celery_app import CeleryApp, celery_app
from control.jobs.schedule import JobQueue, ring_name
from control.operations.plane import Job
from control.signals.breaker import Breaker
from control.signals.client import SEND_LIMIT_SECONDS
from control.signals.gate import DoorbellGate

#: A ring that nobody answered for this long is dropped: the sweeps have done its work, and workers that come back must
#: not meet a heap of them.
RING_EXPIRES_SECONDS = 60


class CeleryDoorbell:
    """Rings over Redis. Safe to share between threads, made in the process that uses it."""

    def __init__(self, redis_url: str) -> None:
        self._gate = DoorbellGate(redis_url)
        self._breaker = Breaker("doorbell")
        self._app: CeleryApp = celery_app(
            redis_url,
            socket_limit_seconds=SEND_LIMIT_SECONDS,
            connect_limit_seconds=SEND_LIMIT_SECONDS,
            # Without this, kombu tries for ever to connect, also for a message that is not to be retried.
            connect_retries=0,
        )

    def ring(self, job: Job) -> None:
        """Send one message, unless one is on its way. Never raises, and takes less than a second in the worst case."""
        self._breaker.attempt(lambda: self._ring(job), otherwise=None)

    def close(self) -> None:
        self._gate.close()
        self._app.close()

    def _ring(self, job: Job) -> None:
        if self._gate.admit(job):
            self._app.send_task(
                ring_name(job),
                queue=JobQueue.JOBS.value,
                expires=RING_EXPIRES_SECONDS,
                ignore_result=True,
                add_to_parent=False,
                retry=False,
            )
