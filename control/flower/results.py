"""Tells Celery clients how the tasks are doing that they sent to the front door."""

import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import structlog
from celery import states  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from celery.exceptions import TaskRevokedError  # pyright: ignore[reportMissingTypeStubs]

from control.flower.metrics import RESULTS_PUBLISHED
from control.jobs import front_door_answers as answers
from control.jobs.celery_app import CeleryApp
from control.operations.celery_requests import (
    Ending,
    Told,
    ended_requests,
    lately_ended_requests,
    settle_request,
    tell_changes,
)
from control.operations.front_door import EXPIRED_ACTOR
from control.operations.plane import Plane
from corral.contract.task_status import TaskStatus

log = structlog.get_logger()

#: How many tasks one call tells of at most; the next call goes on.
BATCH = 100
#: Progress rides on renewals, which are seconds apart.
CHANGES_APART_SECONDS = 1.0
#: A look at all open tasks is for what the quick ones miss. It costs a tenth of a second where ten thousand are in the
#: queue, and may take up a fiftieth of the time.
LOOKS_APART = 50
#: While Redis is away, each attempt costs its caller a time limit.
PAUSE_SECONDS = 1.0


class ResultPublisher:
    """Compares what the tasks are with what was told of them, and tells the difference. For one thread.

    Nothing needs to be remembered: whoever leads next goes on where this one stopped. Where it stopped between telling
    and noting that, one task's end is told twice, with its callbacks and the next step of its chain.
    """

    def __init__(self, app: CeleryApp, plane: Plane, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._plane = plane
        self._clock = clock
        self._pause_until = self._next_look_at = self._next_changes_at = clock()

    def publish(self) -> int:
        """Tell all that is due, up to a batch; answers of how many tasks something was told."""
        try:
            return self._publish_ends() + self._publish_changes()
        except answers.unreachable_errors(self._app) as trouble:
            log.warning("results.unreachable", error=str(trouble), again_after_seconds=PAUSE_SECONDS)
            self._pause_until = self._next_changes_at = self._clock() + PAUSE_SECONDS
            return 0

    def _publish_ends(self) -> int:
        if self._clock() < self._pause_until:
            return 0
        told = sum(self._settle(task_id) for task_id in lately_ended_requests(self._plane, limit=BATCH))
        began_at = self._clock()
        if began_at < self._next_look_at:
            return told
        ended = ended_requests(self._plane, limit=BATCH)
        took_seconds = self._clock() - began_at
        told += sum(self._settle(task_id) for task_id in ended)
        self._next_look_at = self._clock() + (0 if len(ended) == BATCH else took_seconds * LOOKS_APART)
        return told

    def _publish_changes(self) -> int:
        now = self._clock()
        if now < self._next_changes_at:
            return 0
        told = tell_changes(self._plane, tell=self._tell_change, limit=BATCH)
        self._next_changes_at = now + (0 if told == BATCH else CHANGES_APART_SECONDS)
        return told

    def _settle(self, task_id: UUID) -> bool:
        def tell(ending: Ending) -> Told:
            return self._tell_end(task_id, ending)

        return settle_request(self._plane, task_id, tell=tell)

    def _tell_change(self, request: Mapping[str, Any], told: Told) -> None:
        answers.tell_state(self._app, request, state=told["state"], meta=told["meta"])
        RESULTS_PUBLISHED.labels(told["state"]).inc()

    def _tell_end(self, task_id: UUID, ending: Ending) -> Told:
        state, outcome = _as_celery_says(ending)
        try:
            if isinstance(outcome, Exception):
                answers.tell_failed(self._app, ending.request, error=outcome, state=state)
            else:
                answers.tell_done(self._app, ending.request, result=outcome)
        except answers.unreachable_errors(self._app):
            raise
        except Exception:
            # A callback that is no signature, or the like: it would fail each time, and hold up all the others.
            log.exception("results.not_followed", task_id=str(task_id))
            answers.tell_state(self._app, ending.request, state=state, meta=outcome)
        RESULTS_PUBLISHED.labels(state).inc()
        return {"state": state, "meta": None}


def _as_celery_says(ending: Ending) -> tuple[str, Any]:
    """The state and the result; for what has not succeeded, the error that `AsyncResult.get` is to raise."""
    match ending.status:
        case TaskStatus.DONE:
            return states.SUCCESS, ending.result
        case TaskStatus.CANCELLED:
            error: Exception = TaskRevokedError(_why_cancelled(ending))
            return states.REVOKED, error
        case _:
            return states.FAILURE, answers.DeviceTaskFailed(ending.failure_reason or "no reason was given")


def _why_cancelled(ending: Ending) -> str:
    if ending.cancelled_by == EXPIRED_ACTOR:
        return "expired"
    reason = f": {ending.cancel_reason}" if ending.cancel_reason else ""
    return f"cancelled by {ending.cancelled_by}{reason}"
