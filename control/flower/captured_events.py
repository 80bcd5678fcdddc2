"""Flower's own thread for events, with a loop that never pauses long and trusts no silence."""

import time
from typing import Any, NoReturn

import structlog
from celery.events import EventReceiver  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from flower.events import Events  # pyright: ignore[reportMissingTypeStubs] - Flower has no types

log: structlog.stdlib.BoundLogger = structlog.get_logger()
event_receiver: Any = EventReceiver

#: The bridge and each worker send heartbeats every few seconds. Without any, either nobody is there or the
#: connection is dead without having been closed, which a subscriber cannot notice: both times it begins anew.
SILENCE_LIMIT_SECONDS = 15.0
#: Flower's own pause doubles with each failure in a row and has no limit: an hour without Redis would cost another.
RECONNECT_SECONDS = 0.5


class CapturedEvents(Events):
    """Hands every event to Flower's state, and asks for a snapshot whenever it had to connect anew."""

    capp: Any
    on_event: Any

    def run(self) -> NoReturn:
        while True:
            try:
                self._capture()
            except TimeoutError:
                log.info("flower.silence", seconds=SILENCE_LIMIT_SECONDS)
            except Exception as trouble:  # noqa: BLE001 - whatever it was: without events there is nothing to show
                log.warning("flower.events_lost", reason=str(trouble), again_after_seconds=RECONNECT_SECONDS)
                time.sleep(RECONNECT_SECONDS)

    def _capture(self) -> None:
        with self.capp.connection() as connection:
            receiver = event_receiver(connection, handlers={"*": self.on_event}, app=self.capp)
            captured = receiver.itercapture(timeout=SILENCE_LIMIT_SECONDS, wakeup=False)
            # The first step ends when the subscription stands. Flower itself asks before that, and may miss the answer.
            next(captured)
            # The bridge answers this broadcast by a snapshot of what is alive.
            receiver.wakeup_workers()
            for _ in captured:
                pass
