"""One leader among the bridges: whoever holds a lock in Postgres. It alone publishes, answers and reconciles.

    try, each half second ─ got it ─► leads ─ makes sure each second ─ Postgres says no, or nothing ─► tries again

The leader's lock ends with its connection: at once when its process is killed, and after `CUT_OFF_SECONDS` when it is
cut off from Postgres. It takes itself for the leader for a shorter time than that.
"""

import time
from collections.abc import Callable
from typing import Protocol


class HeldLock(Protocol):
    def take(self) -> int | None: ...
    def close(self) -> None: ...


class Leadership:
    """Whether this process leads. One thread calls `seek` and `resign`, all may ask `is_held`."""

    #: What a killed leader costs, at most.
    SEEK_SECONDS = 0.5
    HOLD_SECONDS = 1.0
    #: Nobody else holds the lock until then: Postgres waits for longer before it ends a session.
    SURE_SECONDS = 10.0

    def __init__(self, lock: HeldLock, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = lock
        self._clock = clock
        self._term: int | None = None
        self._sure_until = 0.0
        self._due_at = 0.0

    @property
    def is_held(self) -> bool:
        return self._term is not None and self._clock() < self._sure_until

    @property
    def term(self) -> int | None:
        """What is held, None while nothing is. A new number means that another may have led in between."""
        return self._term if self.is_held else None

    def seek(self) -> None:
        """Try to become the leader, or make sure to be it still; does nothing before the next time is due.

        Raises:
            DBAPIError: Postgres does not answer, and this process leads no more.
        """
        asked_at = self._clock()
        if asked_at < self._due_at:
            return
        self._due_at = asked_at + self.SEEK_SECONDS
        try:
            held = self._lock.take()
        except Exception:
            self._term = None
            raise
        if held is not None:
            self._sure_until = asked_at + self.SURE_SECONDS
            self._due_at = asked_at + self.HOLD_SECONDS
        self._term = held

    def resign(self) -> None:
        """Let another one lead."""
        self._term = None
        self._lock.close()
