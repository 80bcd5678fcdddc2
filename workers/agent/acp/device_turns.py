"""One turn at a time on a device that several conversations share."""

import asyncio

from workers.agent.cancellation import CancelSignal


class DeviceTurns:
    """A turn takes the device at its beginning and gives it back at its end. Those who wait get it in their order."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @property
    def is_taken(self) -> bool:
        return self._lock.locked()

    async def take(self, signal: CancelSignal) -> None:
        """Returns when the device is the caller's. Raises `TurnInterrupted`: it is not, and nobody waits any more."""
        taking = asyncio.create_task(self._lock.acquire())
        forget = signal.on_abort(taking.cancel)
        try:
            await taking
        except asyncio.CancelledError:
            # Cancelled by the signal, or this very task was: then that goes on.
            signal.check()
            raise
        finally:
            forget()

    def give_back(self) -> None:
        self._lock.release()
