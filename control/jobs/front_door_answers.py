"""What a Celery client hears of its task, and what follows from it: callbacks, the next step, the body of a chord.

Each function stores the state in the result backend as a Celery worker does at the end of a task, from the part of the
message that was kept. What follows is sent before the result is stored, so that a crash in between repeats both.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from celery import canvas, current_app, states  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from celery.app.task import Context  # pyright: ignore[reportMissingTypeStubs]
from kombu.exceptions import OperationalError

from control.jobs.celery_app import CeleryApp

_canvas: Any = canvas
_current_app: Any = current_app

#: What of a message is needed to answer it.
_KEPT = (
    "id",
    "task",
    "root_id",
    "parent_id",
    "group",
    "group_index",
    "callbacks",
    "errbacks",
    "chain",
    "chord",
    "ignore_result",
    "stamped_headers",
    "stamps",
)


class DeviceTaskFailed(Exception):
    """The task failed, for the reason that the message gives."""


class FrontDoorFailed(Exception):
    """Something went wrong inside Corral, which its log tells of."""


def unreachable_errors(app: CeleryApp) -> tuple[type[Exception], ...]:
    """What the functions below raise where Redis could not be reached: nothing is wrong with the task."""
    # Kombu counts a KeyError among them, which is also what a callback without a name raises.
    return (*(error for error in app.backend.connection_errors if error is not KeyError), OperationalError)


def kept_request(request: Any) -> dict[str, Any]:
    """The part of a message that these functions need, as JSON."""
    return {name: value for name in _KEPT if (value := getattr(request, name, None)) is not None}


def tell_state(app: CeleryApp, request: Mapping[str, Any], *, state: str, meta: Any) -> None:
    """The task has not ended: where it is, and how far."""
    context = _context(request)
    if not context.ignore_result:
        app.backend.store_result(context.id, meta, state, request=context)


def tell_done(app: CeleryApp, request: Mapping[str, Any], *, result: Any) -> None:
    """The task has succeeded: its callbacks, the next step and its part of a chord get the result."""
    context = _context(request)
    with _as_current(app):
        for callback in context.callbacks or ():
            _follow(app, context, callback, result)
        if context.chain:
            # Celery keeps the steps in reverse.
            _follow(app, context, context.chain[-1], result, chain=context.chain[:-1])
        app.backend.mark_as_done(context.id, result, request=context)


def tell_failed(app: CeleryApp, request: Mapping[str, Any], *, error: Exception, state: str = states.FAILURE) -> None:
    """The task has failed, or was revoked: its errbacks, the steps after it and its chord hear of it."""
    context = _context(request)
    with _as_current(app):
        app.backend.mark_as_failure(
            context.id, error, request=context, state=state, store_result=not context.ignore_result
        )


def _follow(app: CeleryApp, context: Any, following: Any, result: Any, **options: Any) -> None:
    sent = _canvas.maybe_signature(following, app=app).apply_async(
        (result,), parent_id=context.id, root_id=context.root_id or context.id, **options
    )
    # What `AsyncResult.children` shows.
    context.children.append(sent)


@contextmanager
def _as_current(app: CeleryApp) -> Generator[None]:
    """In this thread. What is nested in a signature forgets its application, and asks for the current one."""
    before = _current_app._get_current_object()  # noqa: SLF001 - the name is the proxy's own, for this purpose
    app.set_current()
    try:
        yield
    finally:
        before.set_current()


def _context(request: Mapping[str, Any]) -> Any:
    context: Any = Context(delivery_info={}, **request)
    return context
