"""How late it is for a server whose clock is not ours."""

import time
from collections.abc import Callable


class ServerClock:
    """Learned from the server's answers, and carried on by our own monotonic clock: never ahead of the server's.

    For judging how long a message was under way, which is the difference of two instants of the server's own clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._learned: tuple[int, float] | None = None

    def learn(self, server_ms: int) -> None:
        """The server said so in an answer that has just arrived."""
        self._learned = (server_ms, self._clock())

    def now_ms(self) -> int | None:
        """None where nothing was learned yet."""
        if self._learned is None:
            return None
        server_ms, at = self._learned
        return server_ms + int((self._clock() - at) * 1000)
