"""One at a time, and one that waits."""

import threading
from collections.abc import Generator
from contextlib import contextmanager


class Turns:
    """Lets one of several equal requests run, one wait, and tells the others that they are not needed.

    The one that waits has not begun, so it will see whatever a later one came for.
    """

    def __init__(self) -> None:
        self._running = threading.Lock()
        self._waiting = threading.Lock()

    @contextmanager
    def turn(self) -> Generator[bool]:
        """True when it is this request's turn; False where another one waits already."""
        if not self._waiting.acquire(blocking=False):
            yield False
            return
        with self._running:
            self._waiting.release()
            yield True
