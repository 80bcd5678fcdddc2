"""The front door: tasks that Celery clients send as `corral.run`.

    client ── message ──► queue ──► worker: insert the task, store QUEUED, step aside
    client ◄── STARTED with progress, then SUCCESS, FAILURE or REVOKED ── the bridge, from the task's row

The Celery task runs for milliseconds and never answers by itself: the device task goes on under the same id.
"""

import time
from datetime import datetime
from typing import Any

import structlog
from celery.exceptions import Ignore, Reject  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from celery.utils.time import maybe_iso8601, maybe_make_aware  # pyright: ignore[reportMissingTypeStubs]
from celery.worker import state as worker_state  # pyright: ignore[reportMissingTypeStubs]
from celery.worker.request import Request  # pyright: ignore[reportMissingTypeStubs]

from control.domain.errors import Refusal
from control.jobs import front_door_answers as answers
from control.jobs.celery_app import CeleryApp
from control.jobs.front_door_app import TASK_NAME, close_front_door_app, front_door_app, front_door_queue
from control.operations.celery_requests import Told
from control.operations.front_door import CeleryMessage, accept_message, refuse_message
from control.operations.plane import Plane
from control.store.database import DATABASE_AWAY, is_schema_behind

log = structlog.get_logger()

_WorkerRequest: Any = Request
_revoked: Any = worker_state.revoked
_as_instant: Any = maybe_iso8601
_as_aware: Any = maybe_make_aware

#: A message that cannot be worked on just now goes back to its queue, and must not come again at once.
PUT_BACK_AFTER_SECONDS = 1.0


class LetIn(_WorkerRequest):
    """Brings every message to the task, where Celery would hold one with an eta and drop one that was revoked.

    Dropped, a message would leave no trace in Corral; held, it would be lost to other workers for as long.
    """

    eta = None

    def revoked(self) -> bool:
        return False


class FrontDoor:
    """Takes in messages on behalf of one submitter, in one worker process. For all its threads."""

    def __init__(self, plane: Plane, redis_url: str, *, submitter: str, queue: str) -> None:
        self.queue = queue
        self._plane = plane
        self._app = front_door_app(redis_url, queue=queue)
        self._submitter = submitter

    def take_in(self, request: Any) -> None:
        """Queue the task of a message, or answer that it was refused. `request` is that of the running Celery task.

        Raises:
            Reject: Postgres or Redis is away, or the database is not migrated yet; the message comes again.
        """
        if not isinstance(request.id, str):
            # Under which nobody could be answered.
            log.warning("front_door.refused", task_id=repr(request.id)[:100], reason="the id is no text")
            return
        try:
            self._accept_or_refuse(request)
        except Exception as trouble:
            if not self._passes(trouble):
                raise
            log.warning("front_door.put_back", task_id=request.id, error=str(trouble))
            time.sleep(PUT_BACK_AFTER_SECONDS)
            raise Reject(trouble, requeue=True) from trouble

    def close(self) -> None:
        close_front_door_app(self._app)

    def _accept_or_refuse(self, request: Any) -> None:
        try:
            self._accept(request)
        except Refusal as refusal:
            log.info("front_door.refused", task_id=request.id, reason=str(refusal))
            self._refuse(request, refusal)
        except Exception as trouble:
            if self._passes(trouble):
                raise
            # Answered, for it would fail again, and its sender would wait for ever.
            log.exception("front_door.failed", task_id=request.id)
            self._refuse(
                request, answers.FrontDoorFailed(f"Corral could not take the task in: {type(trouble).__name__}")
            )

    def _passes(self, trouble: Exception) -> bool:
        """Whether nothing is wrong with the message: it can be taken in later."""
        is_away = isinstance(trouble, (*DATABASE_AWAY, *answers.unreachable_errors(self._app)))
        return is_away or is_schema_behind(trouble)

    def _accept(self, request: Any) -> None:
        kept = answers.kept_request(request)

        def tell_queued(told: Told) -> None:
            answers.tell_state(self._app, kept, **told)

        is_fresh = accept_message(
            self._plane,
            CeleryMessage(
                task_id=request.id,
                fields=request.kwargs,
                request=kept,
                eta=request.eta,
                expires_at=_instant(request.expires),
                revoked_by=f"celery:{request.hostname}" if request.id in _revoked else None,
            ),
            submitter=self._submitter,
            tell_queued=tell_queued,
        )
        log.info("front_door.accepted", task_id=request.id, is_fresh=is_fresh)

    def _refuse(self, request: Any, error: Exception) -> None:
        kept = answers.kept_request(request)
        refuse_message(self._plane, request.id, tell=lambda: answers.tell_failed(self._app, kept, error=error))


def register_front_door(app: CeleryApp, door: FrontDoor) -> None:
    """Give the worker the task that clients send, and the queue that it comes from."""
    app.conf.task_queues = [*app.conf.task_queues, front_door_queue(door.queue)]

    def run(*_: Any, **__: Any) -> None:
        door.take_in(task.request)
        # Celery is to say nothing of the end: the device task has only begun.
        raise Ignore

    task: Any = app.task(
        run,
        name=TASK_NAME,
        shared=False,
        Request=LetIn,
        acks_late=True,
        ignore_result=False,
        track_started=False,
        # Flower is told of the device task, by the bridge.
        send_events=False,
    )


def _instant(expires: Any) -> datetime | None:
    return None if expires is None else _as_aware(_as_instant(expires))
