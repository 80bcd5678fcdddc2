"""Sends events to whoever listens to Celery's: lists of them, twenty times as many a second as one by one."""

from collections.abc import Sequence
from typing import Any

from celery.events import event  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from kombu import messaging
from kombu.exceptions import OperationalError

from control.flower.events import CeleryEvent
from control.flower.metrics import EVENTS_PUBLISHED
from control.jobs.celery_app import CeleryApp, celery_app

#: A list for workers would make Celery's own workers complain, so heartbeats go under this key too.
ROUTING_KEY = "task.multi"
#: Some hundred kilobytes: less than what makes Redis drop a consumer that reads slowly.
MOST_EVENTS_AT_ONCE = 500
#: The bridge does one thing after the other, and has a batch to repeat.
SOCKET_LIMIT_SECONDS = 5.0

_celery_events: Any = event
_kombu: Any = messaging


class NobodyTold(Exception):
    """Redis did not take all of these events. Send them again, all of them: the order is that of the last time."""


class EventStream:
    """One connection to Redis, made anew after it was lost. For one thread."""

    def __init__(self, redis_url: str) -> None:
        self._app: CeleryApp = celery_app(
            redis_url,
            socket_limit_seconds=SOCKET_LIMIT_SECONDS,
            connect_limit_seconds=SOCKET_LIMIT_SECONDS,
            # Left to itself, kombu tries for ever to connect.
            connect_retries=0,
        )
        self._connection: Any = None
        self._producer: Any = None

    def publish(self, events: Sequence[CeleryEvent]) -> None:
        """Send events in their order.

        Raises:
            NobodyTold: Redis is away, or does not answer in time.
        """
        for start in range(0, len(events), MOST_EVENTS_AT_ONCE):
            self._send(list(events[start : start + MOST_EVENTS_AT_ONCE]))

    def close(self) -> None:
        """Give the connection back; the next event opens another."""
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.release()

    def _send(self, events: list[CeleryEvent]) -> None:
        self._connection = connection = self._connection or self._app.connection_for_write()
        try:
            self._producer = producer = self._producer or _producer(connection)
            producer.publish(events, routing_key=ROUTING_KEY, delivery_mode=1, retry=False)
        except (OperationalError, *connection.connection_errors, *connection.channel_errors) as trouble:
            self.close()
            raise NobodyTold(str(trouble) or type(trouble).__name__) from trouble
        EVENTS_PUBLISHED.inc(len(events))


def _producer(connection: Any) -> Any:
    # Declared once: what kombu does not know as a fan-out, it would put into a queue that nobody reads.
    return _kombu.Producer(
        connection, exchange=_celery_events.get_exchange(connection), serializer="json", auto_declare=True
    )
