"""How workers take messages from queues that everybody who reaches Redis may write to.

Left to itself, Celery ends the worker over a message that breaks its own code, puts the message back, and meets it
again at once: no job would ever run again. One that breaks it in a thread of the pool is never acknowledged, and four
of them leave no room for others. And of what it cannot use it logs the whole, with all that is secret in a flow.
"""

from collections.abc import Callable
from typing import Any

import structlog
from celery.app.task import Context  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from celery.exceptions import InvalidTaskError, NotRegistered  # pyright: ignore[reportMissingTypeStubs]
from celery.worker.consumer import Consumer  # pyright: ignore[reportMissingTypeStubs]
from kombu.exceptions import OperationalError

log: structlog.stdlib.BoundLogger = structlog.get_logger()

_Consumer: Any = Consumer


class MessageConsumer(_Consumer):
    """Celery's own, but for messages that are unusable: each is dropped, and told of without what is in it."""

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        celerys: Any = super()
        take: Callable[[Any], None] = celerys.create_task_handler(*args, **options)

        def take_or_drop(message: Any) -> None:
            try:
                _check_shape(message.payload)
                take(message)
            except self._away:
                raise
            except Exception as trouble:  # noqa: BLE001 - whatever the code of Celery stumbles over in a message
                self._drop(message, trouble)

        return take_or_drop

    @property
    def _away(self) -> tuple[type[Exception], ...]:
        # Kombu counts a KeyError among them, which is also what a message without an id raises.
        return (*(error for error in self.connection_errors if error is not KeyError), OperationalError)

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        self._drop(message, exc)

    def on_invalid_task(self, body: object, message: Any, exc: Exception) -> None:  # noqa: ARG002 - as Celery calls it
        self._drop(message, exc)

    def on_unknown_message(self, body: object, message: Any) -> None:  # noqa: ARG002 - as above
        self._drop(message, InvalidTaskError())

    def on_unknown_task(self, body: object, message: Any, exc: Exception) -> None:  # noqa: ARG002 - as above
        facts = message.headers if "task" in message.headers else message.payload
        unknown = NotRegistered(facts["task"])
        self._drop(message, unknown)
        if isinstance(facts["id"], str):
            self.app.backend.mark_as_failure(facts["id"], unknown, request=Context(id=facts["id"], delivery_info={}))

    def _drop(self, message: Any, trouble: Exception) -> None:
        # Not the words of the error: they may repeat what is in the message.
        log.warning(
            "message.dropped",
            queue=message.delivery_info.get("routing_key"),
            task_id=repr(_header(message, "id"))[:100],
            error=type(trouble).__name__,
        )
        message.reject_log_error(log, self.connection_errors)


def _header(message: Any, name: str) -> object:
    match message.headers:
        case {**headers}:
            return headers.get(name)
        case _:
            return None


def _check_shape(payload: object) -> None:
    """Raises InvalidTaskError for the body of a message that is none of a task, in either protocol of Celery."""
    match payload:
        case [list(), dict(), dict() | None]:
            return
        case {"args": list(), "kwargs": dict()}:
            return
        case _:
            raise InvalidTaskError
