"""The only clock of a host, and pauses that an event ends.

Leases are counted on `CLOCK_BOOTTIME`: it never jumps, and it goes on while the machine sleeps, as Postgres' clock
does. The event loop's own timers stand still in that time, so what must end by this clock looks at it repeatedly.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

#: Seconds since some moment in the past. Tests hand in a clock of their own.
Clock = Callable[[], float]

# macOS has no CLOCK_BOOTTIME; its CLOCK_MONOTONIC counts the time asleep as well.
_BOOT_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Seconds since the machine was started, those asleep included."""
    return time.clock_gettime(_BOOT_CLOCK)


async def pause(seconds: float, *, until: asyncio.Event) -> None:
    """Wait for `seconds`, or less if the event is set before."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()
