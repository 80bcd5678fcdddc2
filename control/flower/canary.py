"""A word to oneself, over the way that everything else takes: the only proof that one still hears.

A subscriber whose connection died without being closed waits for ever, and to nobody's notice.
"""

import time
from collections.abc import Callable
from typing import Any

#: No worker has such a command, and the word is addressed to nobody but us.
METHOD = "corral_canary"
EVERY_SECONDS = 5.0
#: Until the first word is heard: one that is said before the subscription counts reaches nobody.
AT_FIRST_SECONDS = 0.2
#: So many were not heard, and half of the time until the next has passed: the connection is dead.
WORDS_MISSED = 2


class Canary:
    """Says when the next word is due, and when something was heard the last time."""

    def __init__(
        self, name: str, *, every_seconds: float = EVERY_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._clock = clock
        self._every_seconds = every_seconds
        self._silence_seconds = every_seconds * (WORDS_MISSED + 0.5)
        self._due_at = clock()
        self._listens_since = self.heard_at = clock()

    def begin(self) -> None:
        """Listen over a connection that has just been made."""
        self._listens_since = self._due_at = self._clock()

    def word(self) -> dict[str, Any] | None:
        """What is to be broadcast now, if it is time."""
        if self._clock() < self._due_at:
            return None
        has_heard = self.heard_at > self._listens_since
        self._due_at = self._clock() + (self._every_seconds if has_heard else AT_FIRST_SECONDS)
        return {
            "method": METHOD,
            "arguments": {},
            "destination": [self._name],
            "pattern": None,
            "matcher": None,
        }

    def hear(self) -> None:
        """Something came, whatever it was."""
        self.heard_at = self._clock()

    @property
    def is_deaf(self) -> bool:
        """Nothing has come over this connection for so long that it must be dead."""
        return self._clock() - max(self.heard_at, self._listens_since) > self._silence_seconds
