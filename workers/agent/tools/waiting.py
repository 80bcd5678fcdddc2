"""Waits that end when the turn does."""

import asyncio
import contextlib

from workers.agent.cancellation import CancelSignal
from workers.clock import boot_seconds


async def pause_or_abort(seconds: float, signal: CancelSignal) -> None:
    """Waits. Raises `TurnInterrupted` as soon as the signal fires; leaves nothing behind that still waits."""
    end = boot_seconds() + seconds
    signal.check()
    while (left := end - boot_seconds()) > 0:
        with contextlib.suppress(TimeoutError):
            # The timer of the loop stands still while the machine sleeps.
            async with asyncio.timeout(min(left, 1.0)):
                await signal.wait()
        signal.check()
