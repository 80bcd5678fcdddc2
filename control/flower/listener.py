"""Listens where Celery's workers listen for remote control, and answers for the device hosts.

    Flower, any client ─ broadcast ─► celery.pidbox ─┬─► workers of Celery
                                                     └─► PidboxListener ─ revoke ──► durable cancel  (every replica)
                                                                        ─ inspect ─► one merged reply  (the leader)

What nobody hears is lost: that is how Celery broadcasts. Hence every replica cancels, and so do the workers of jobs.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from kombu.exceptions import InconsistencyError, OperationalError  # pyright: ignore[reportMissingTypeStubs] - kombu has no types
from kombu.messaging import Consumer, Producer  # pyright: ignore[reportMissingTypeStubs] - as above
from sqlalchemy.exc import SQLAlchemyError

from control.flower import canary, reconciliation
from control.flower.canary import Canary
from control.flower.commands import Command, UnreadableCommand
from control.flower.fleet import Fleet
from control.flower.heard_revokes import HeardRevokes
from control.flower.inspections import ANSWERS
from control.jobs.celery_app import CeleryApp
from control.operations.plane import Plane

log: structlog.stdlib.BoundLogger = structlog.get_logger()

#: How soon it looks up from listening: whether to stop, whether a word to oneself is due.
LOOK_UP_SECONDS = 0.2
#: The first time, kombu has only to say what is listened to.
SUBSCRIBE_SECONDS = 0.01
RECONNECT_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


class Deaf(Exception):
    """Nothing is heard over this connection, not even ourselves; take another."""


class PidboxListener:
    """One replica's ear: `run` it in a thread of its own.

    Args:
        app: as `control.jobs.celery_app` makes them.
        is_leader: whether this replica is the one that answers what is asked.
        name: under which it replies to revokes, and which no worker has.
        keeps_unknown: whether the front door is open, so that a revoked id may become a task later.
        on_flower: called, often, when a Flower has connected and wants to know what there is, or may have.
    """

    def __init__(
        self,
        app: CeleryApp,
        plane: Plane,
        *,
        is_leader: Callable[[], bool],
        name: str,
        keeps_unknown: bool,
        on_flower: Callable[[], None],
        canary_seconds: float = canary.EVERY_SECONDS,
    ) -> None:
        self._app = app
        self._is_leader = is_leader
        self._name = name
        self._on_flower = on_flower
        self._fleet = Fleet(app, plane)
        self._canary = Canary(name, every_seconds=canary_seconds)
        self._revokes = HeardRevokes(
            plane,
            self._fleet,
            name=name,
            keeps_unknown=keeps_unknown,
            # Who has so much to do is not deaf, and must not be ended for it: it would be lost.
            on_progress=self._canary.hear,
        )
        self._is_connected = False
        self._producer: Any = None

    @property
    def heard_at(self) -> float:
        """When something was heard the last time, if only ourselves, on the monotonic clock."""
        return self._canary.heard_at

    def run(self, stop: threading.Event) -> None:
        """Listen until told to stop, through every outage of Redis and Postgres."""
        failures = 0
        while not stop.is_set():
            try:
                self._listen(stop)
            except Exception as error:  # noqa: BLE001 - a listener that ends leaves the bridge deaf for good
                failures = 1 if self._is_connected else failures + 1
                if failures == 1:
                    self._say_why(error)
                self._is_connected = False
                self._revokes.retry()
                stop.wait(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS)) - 1])

    def _say_why(self, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"
        # What is no trouble with Redis is a mistake of ours, and its traceback says where.
        is_trouble = isinstance(error, (Deaf, OperationalError, *self._app.connection_for_read().connection_errors))
        log.warning("pidbox.disconnected", error=reason, exc_info=None if is_trouble else error)

    def _listen(self, stop: threading.Event) -> None:
        with self._app.connection_for_read() as connection:
            channel = connection.channel()
            self._producer = Producer(channel, auto_declare=False)
            self._canary.begin()
            with Consumer(
                channel,
                [self._app.control.mailbox.get_queue(self._name)],
                no_ack=True,
                accept=["json"],
                callbacks=[self._hear],
                on_decode_error=_skip,
            ):
                limit_seconds = SUBSCRIBE_SECONDS
                while not stop.is_set():
                    with suppress(TimeoutError):
                        connection.drain_events(timeout=limit_seconds)
                    limit_seconds = LOOK_UP_SECONDS
                    self._sing()
                    self._revokes.retry()

    def _sing(self) -> None:
        if self._canary.is_deaf:
            raise Deaf
        word = self._canary.word()
        if word is not None:
            self._publish(word, self._app.control.mailbox.exchange)

    def _hear(self, body: object, _message: object) -> None:
        self._canary.hear()
        if not self._is_connected:
            self._is_connected = True
            log.info("pidbox.connected", name=self._name)
            # Nobody knows who has asked while nothing was heard: after an outage, Flower is often back first.
            self._on_flower()
        try:
            self._answer(Command.read(body))
        except UnreadableCommand as trouble:
            log.warning("pidbox.unreadable", error=str(trouble))
        except SQLAlchemyError as error:
            log.warning("pidbox.not_answered", error=f"{type(error).__name__}: {error}")

    def _answer(self, command: Command) -> None:
        match command.method:
            case "revoke" | "terminate":
                said = self._revokes.take(command)
                self._reply(command, {self._name: {"ok": said}} if said else {})
            case "heartbeat" if not command.is_for_some:
                self._on_flower()
            case method if method in ANSWERS and reconciliation.ASKED_BY not in command.arguments:
                self._inspect(command)
            case _:
                # Workers of Celery, and we to ourselves.
                pass

    def _inspect(self, command: Command) -> None:
        if command.reply_to and self._is_leader():
            workers = self._fleet.asked()
            answer = ANSWERS[command.method]
            self._reply(command, {name: answer(workers[name]) for name in command.addressed(workers)})

    def _reply(self, command: Command, answer: dict[str, Any]) -> None:
        if command.reply_to and answer:
            # Whoever asked may be gone, and the queue for replies with it.
            with suppress(InconsistencyError):
                self._publish(
                    answer,
                    self._app.control.mailbox.reply_exchange,
                    routing_key=command.reply_to.routing_key,
                    headers={"ticket": command.ticket, "clock": self._app.clock.forward()},
                )

    def _publish(self, body: dict[str, Any], exchange: Any, **more: Any) -> None:
        self._producer.publish(body, exchange=exchange, declare=[exchange], serializer="json", **more)


def _skip(_message: object, error: Exception) -> None:
    log.warning("pidbox.unreadable", error=f"{type(error).__name__}: {error}")
