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
    _is_deaf = False

    def run(self) -> NoReturn:
        while True:
            try:
                self._capture()
            except TimeoutError:
                self._say_once("nothing was heard, from bridge or workers")
            except Exception as trouble:  # noqa: BLE001 - whatever it was: without events there is nothing to show
                self._say_once(str(trouble) or type(trouble).__name__)
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
                if self._is_deaf:
                    self._is_deaf = False
                    log.info("flower.events_again")

    def _say_once(self, reason: str) -> None:
        if not self._is_deaf:
            self._is_deaf = True
            log.warning("flower.events_lost", reason=reason)
