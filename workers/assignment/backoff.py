"""How long to wait before asking again."""

import itertools
import random
from collections.abc import Iterator

FIRST_SECONDS = 0.2
#: An outage is over for a host at most this long after it is over for the control plane.
LONGEST_SECONDS = 10.0


def backoff_seconds(*, longest_seconds: float = LONGEST_SECONDS) -> Iterator[float]:
    """Growing pauses without end, each shortened at random so that a fleet does not come back in one instant."""
    for doublings in itertools.count():
        yield jittered(min(FIRST_SECONDS * 2 ** min(doublings, 16), longest_seconds))


def jittered(seconds: float) -> float:
    """Between half of it and all of it."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spread, not secrecy
