"""What those who use a device need of it: `Device` is one, and so is what stands in for it in tests."""

from typing import Protocol

from workers.device.actions import Action
from workers.device.observation import Observation
from workers.device.outcome import Failed, Outcome


class AnyDevice(Protocol):
    async def perform(self, action: Action) -> Outcome: ...

    async def observe(self) -> Observation: ...

    async def screenshot_png(self) -> bytes | Failed: ...
