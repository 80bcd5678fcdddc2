"""Finds the revokes that no bridge heard, in the memory of the workers that did."""

import time
from contextlib import suppress
from typing import Any, cast
from uuid import uuid4

import structlog
from kombu.exceptions import OperationalError  # pyright: ignore[reportMissingTypeStubs] - kombu has no types
from kombu.messaging import Consumer, Producer  # pyright: ignore[reportMissingTypeStubs] - as above

from control.jobs.celery_app import CeleryApp
from control.operations.plane import Plane
from control.operations.revokes import cancel_revoked

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ACTOR = "celery:reconciliation"
#: Workers take any argument of `inspect revoked`, and a bridge that is asked with this one has nothing to say.
ASKED_BY = "asked_by"
ASKS = {ASKED_BY: "corral"}
#: How long workers have for an answer, of which they need a hundredth.
ANSWER_SECONDS = 0.5
#: A connection cannot be closed before its last poll has ended.
POLL_SECONDS = 0.1


def reconcile_revokes(app: CeleryApp, plane: Plane, *, keeps_unknown: bool) -> int:
    """Cancel every device task that some worker of Celery remembers as revoked; answers how many had no cancel yet.

    Takes most of a second, for nobody knows how many workers there are.

    Raises:
        kombu.exceptions.OperationalError: Redis does not answer.
    """
    revoked = cancel_revoked(plane, _remembered(app), actor=ACTOR, keeps_unknown=keeps_unknown)
    if revoked.cancelled:
        log.info("revokes.found", cancelled=len(revoked.cancelled))
    return len(revoked.cancelled)


def _remembered(app: CeleryApp) -> set[str]:
    return {
        task_id
        for answer in _ask(app)
        for task_ids in answer.values()
        if isinstance(task_ids, list)
        for task_id in cast("list[Any]", task_ids)
        if isinstance(task_id, str)
    }


def _ask(app: CeleryApp) -> list[dict[str, Any]]:
    # A connection of its own, tried once: Celery's broadcast takes one from a pool, and tries for ever.
    with app.connection_for_write(transport_options={"polling_interval": POLL_SECONDS}) as connection:
        try:
            return _answers(app.control.mailbox, connection)
        except connection.recoverable_connection_errors as error:
            raise OperationalError(f"{type(error).__name__}: {error}") from error


def _answers(mailbox: Any, connection: Any) -> list[dict[str, Any]]:
    channel, queue = connection.channel(), mailbox.reply_queue
    answers: list[Any] = []

    def note(body: Any, _: Any) -> None:
        answers.append(body)

    question = {
        "method": "revoked",
        "arguments": ASKS,
        "reply_to": {"exchange": queue.exchange.name, "routing_key": queue.routing_key},
        "ticket": str(uuid4()),
    }
    with Consumer(channel, [queue], no_ack=True, accept=["json"], callbacks=[note]):
        exchange = mailbox.exchange
        producer: Any = Producer(channel, auto_declare=False)
        producer.publish(question, exchange=exchange, declare=[exchange], serializer="json")
        until = time.monotonic() + ANSWER_SECONDS
        while (left_seconds := until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                connection.drain_events(timeout=left_seconds)
    return [answer for answer in answers if isinstance(answer, dict)]
