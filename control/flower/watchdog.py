"""Ends a process that goes on without working: whoever supervises it starts another.

A subscriber does not notice that its connection is dead, and a thread that hangs notices nothing at all. While Redis is
away there is nothing to be heard, and a new process would hear no more.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog

log = structlog.get_logger()

LOOK_SECONDS = 1.0
#: Four of the listener's words to itself.
SILENCE_SECONDS = 20.0
#: Longer than Redis and Postgres may take to answer, one after the other.
HANGING_SECONDS = 90.0


class Watchdog:
    """Looks once a second from a thread of its own."""

    def __init__(
        self,
        *,
        heard_at: Callable[[], float],
        worked_at: Callable[[], float],
        redis_answers: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        end: Callable[[int], Any] = os._exit,
    ) -> None:
        self._heard_at = heard_at
        self._worked_at = worked_at
        self._redis_answers = redis_answers
        self._clock = clock
        self._end = end
        self._redis_away_at = clock()

    def run(self, stop: threading.Event) -> None:
        """Look until `stop` is set."""
        while not stop.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """End the process, with code 1, where a part of it has been silent for too long."""
        if self._clock() - self._worked_at() > HANGING_SECONDS:
            log.error("bridge.hangs", seconds=round(self._clock() - self._worked_at()))
            self._end(1)
        if not self._is_silent():
            return
        if not self._redis_answers():
            self._redis_away_at = self._clock()
        elif self._is_silent():
            log.error("bridge.deaf", seconds=round(self._clock() - self._heard_at()))
            self._end(1)

    def _is_silent(self) -> bool:
        return self._clock() - max(self._heard_at(), self._redis_away_at) > SILENCE_SECONDS
