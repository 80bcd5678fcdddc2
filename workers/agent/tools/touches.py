"""Taps."""

from pydantic import Field

from workers.agent.tools.aim import spot_of
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.target import Target, Whole
from workers.agent.tools.tool import Arguments
from workers.device import actions
from workers.device.touch import MAX_DURATION_MS


class TapArguments(Arguments):
    target: Target


class LongPressArguments(Arguments):
    target: Target
    duration_ms: Whole = Field(default=1000, ge=100, le=MAX_DURATION_MS)


class Tap(DeviceTool[TapArguments]):
    name = "tap"
    description = "Tap on an element or a point."
    arguments = TapArguments

    async def act(self, arguments: TapArguments, call: DeviceCall) -> None:
        spot = await spot_of(arguments.target, call)
        await call.do(actions.Tap(spot.x_px, spot.y_px), f"tapped {spot.told}")


class DoubleTap(DeviceTool[TapArguments]):
    name = "double_tap"
    description = "Tap twice, quickly, on an element or a point."
    arguments = TapArguments

    async def act(self, arguments: TapArguments, call: DeviceCall) -> None:
        spot = await spot_of(arguments.target, call)
        await call.do(actions.DoubleTap(spot.x_px, spot.y_px), f"tapped twice on {spot.told}")


class LongPress(DeviceTool[LongPressArguments]):
    name = "long_press"
    description = "Hold a finger on an element or a point."
    arguments = LongPressArguments

    async def act(self, arguments: LongPressArguments, call: DeviceCall) -> None:
        spot = await spot_of(arguments.target, call)
        duration_ms = arguments.duration_ms
        action = actions.LongPress(spot.x_px, spot.y_px, duration_ms)
        await call.do(action, f"held a finger on {spot.told} for {duration_ms} ms")
