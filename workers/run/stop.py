"""The one way to stop a run, and what it makes of the run."""

import asyncio
from collections.abc import Callable

from workers.clock import boot_seconds, pause

#: The reason that makes a stopped run `cancelled`. Every other reason makes it `failed`, for infrastructure.
CANCELLATION_REASON = "cancellation requested by control plane"

#: The reason of a stop that gives none.
INTERRUPTED_REASON = "execution interrupted"

#: A stop that sets no event is noticed in a wait after this long.
_LOOK_SECONDS = 0.1


class Interrupted(Exception):
    """The run was told to stop, and what it was doing could end at once."""


class Stop:
    """Whether to stop and why. Once seen, a stop stays."""

    def __init__(
        self,
        should_stop: Callable[[], bool],
        *,
        stop_reason: Callable[[], str] | None = None,
        stopped: asyncio.Event | None = None,
    ) -> None:
        """`stopped`, set when `should_stop` turns true, ends waits at once; without it they look repeatedly."""
        self._should_stop = should_stop
        self._stop_reason = stop_reason
        self._stopped = stopped or asyncio.Event()
        self._is_seen = False

    @property
    def is_asked(self) -> bool:
        self._is_seen = self._is_seen or self._should_stop()
        return self._is_seen

    @property
    def reason(self) -> str:
        return (self._stop_reason() if self._stop_reason else "") or INTERRUPTED_REASON

    @property
    def is_cancellation(self) -> bool:
        return self.reason.startswith(CANCELLATION_REASON)

    def check(self) -> None:
        if self.is_asked:
            raise Interrupted

    async def wait(self, seconds: float) -> None:
        """Waits, and raises `Interrupted` as soon as the run is to stop."""
        end = boot_seconds() + seconds
        self.check()
        while (left := end - boot_seconds()) > 0:
            await pause(min(left, _LOOK_SECONDS), until=self._stopped)
            self.check()
            if self._stopped.is_set():
                # Set for something else, or too early: it must not turn this wait into a busy loop.
                await asyncio.sleep(min(left, _LOOK_SECONDS))
