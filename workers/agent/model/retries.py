"""Whether to ask again, and when. The only retries there are: those of the providers' libraries are off."""

import random
from dataclasses import dataclass

from workers.agent.model.failures import Failure

#: The longest wait for a provider where no deadline ends the goal: a phone stands idle meanwhile.
MAX_WAIT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Retries:
    """Up to `attempts` requests for one answer; the wait between them doubles, and is spread by half of itself.

    Four attempts bridge a hiccup of ten seconds. What takes longer is an outage, and the task's own retry is for it.
    """

    attempts: int = 4
    first_wait_seconds: float = 1.0

    def wait_seconds(self, failure: Failure, attempt: int, *, seconds_left: float | None) -> float | None:
        """How long to wait before the next attempt; None if there is to be none. `attempt` is the one that failed."""
        if not failure.can_retry or attempt >= self.attempts:
            return None
        wait = failure.retry_after_seconds
        if wait is None:
            # Many agents meet the same outage at once; the spread keeps them from coming back at once.
            wait = self.first_wait_seconds * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311  no secret
        limit = MAX_WAIT_SECONDS if seconds_left is None else seconds_left
        return wait if wait < limit else None


DEFAULT_RETRIES = Retries()
