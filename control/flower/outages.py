"""Says once that something is away, and once that it is back."""

import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class Outages:
    """What is away now. For one thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_at: dict[str, float] = {}

    def begin(self, what: str, trouble: BaseException) -> None:
        if what not in self._began_at:
            self._began_at[what] = self._clock()
            log.warning("bridge.outage", of=what, error=str(trouble).strip())

    def end(self, what: str) -> None:
        began_at = self._began_at.pop(what, None)
        if began_at is not None:
            log.info("bridge.outage_over", of=what, seconds=round(self._clock() - began_at, 1))
