"""One turn at a time on a device that several conversations share."""

import asyncio

from workers.agent.acp.interruptible import until_aborted
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
        await until_aborted(self._lock.acquire(), signal)

    def give_back(self) -> None:
        self._lock.release()
