"""Waits that end when the turn does."""

from workers.agent.cancellation import CancelSignal, pause_unless_aborted
from workers.clock import boot_seconds


async def pause_or_abort(seconds: float, signal: CancelSignal) -> None:
    """Waits. Raises `TurnInterrupted` as soon as the signal fires; leaves nothing behind that still waits."""
    end = boot_seconds() + seconds
    signal.check()
    while (left := end - boot_seconds()) > 0:
        # The timer of the loop stands still while the machine sleeps.
        await pause_unless_aborted(min(left, 1.0), signal)
        signal.check()
