"""One at a time, one that waits, and a while between them."""

import math
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager


class Turns:
    """Lets one of several equal requests run, one wait, and tells the others that they are not needed.

    The one that waits has not begun, so it will see whatever a later one came for.

    Args:
        apart_seconds: so much passes between the beginnings of two: more come for the second while it waits.
    """

    def __init__(self, *, apart_seconds: float = 0.0) -> None:
        self._apart_seconds = apart_seconds
        self._begun_at = -math.inf
        self._running = threading.Lock()
        self._waiting = threading.Lock()

    @contextmanager
    def turn(self) -> Generator[bool]:
        """True when it is this request's turn; False where another one waits already."""
        if not self._waiting.acquire(blocking=False):
            yield False
            return
        with self._running:
            time.sleep(max(0.0, self._begun_at + self._apart_seconds - time.monotonic()))
            self._begun_at = time.monotonic()
            self._waiting.release()
            yield True
