"""What the runner needs of a device."""

from typing import Protocol

from workers.device.actions import Action
from workers.device.observation import Observation
from workers.device.outcome import Failed, Outcome


class RunDevice(Protocol):
    async def perform(self, action: Action) -> Outcome: ...

    async def observe(self) -> Observation: ...

    async def screenshot_png(self) -> bytes | Failed: ...
