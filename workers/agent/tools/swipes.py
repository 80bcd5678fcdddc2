"""Moving a finger. No direction is bare: a swipe says where the finger goes, a scroll what comes into sight."""

from typing import Literal

from pydantic import Field, model_validator

from workers.agent.tools.aim import Spot, element_of, spot_of
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.target import AnyElement, Target, Whole
from workers.agent.tools.tool import Arguments
from workers.device import actions
from workers.device.observation import Bounds
from workers.device.outcome import ErrorCode
from workers.device.touch import MAX_DURATION_MS

Direction = Literal["up", "down", "left", "right"]

#: Which way a finger goes, in x and y.
_WAY: dict[Direction, tuple[int, int]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
#: To see what is further down, the finger goes up.
_FINGER_TO_REVEAL: dict[Direction, Direction] = {"down": "up", "up": "down", "right": "left", "left": "right"}
#: How far from its middle a scroll goes, in hundredths of what is scrolled: short of the edges, which have gestures.
_SCROLL_PERCENT = 40
#: Slow enough to move the content without throwing it.
_SCROLL_MS = 500


class SwipeArguments(Arguments):
    """Either `finger`, or `from` and `to`."""

    finger: Direction | None = Field(default=None, description="Which way the finger goes; content moves along.")
    distance: Whole = Field(
        default=50, ge=5, le=80, description="How far with `finger`, in percent of the screen's height or width."
    )
    target: Target | None = Field(
        default=None, description="Where `finger` starts; without it, around the middle of the screen."
    )
    start: Target | None = Field(default=None, alias="from", description="Where the finger goes down.")
    end: Target | None = Field(default=None, alias="to", description="Where the finger is lifted.")
    duration_ms: Whole = Field(default=400, ge=50, le=MAX_DURATION_MS)

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "SwipeArguments":
        points = [self.start, self.end]
        if (self.finger is None) == (points == [None, None]):
            raise ValueError("a swipe has either `finger`, or `from` and `to`")
        if self.finger is None and (None in points or self.target is not None):
            raise ValueError("a swipe without `finger` has both `from` and `to`, and no `target`")
        return self


class ScrollArguments(Arguments):
    reveal: Direction = Field(description="On which side more is to come into sight; down shows what is further below.")
    target: AnyElement | None = Field(
        default=None, description="The element to scroll in; without it, the middle of the screen."
    )


class Swipe(DeviceTool[SwipeArguments]):
    name = "swipe"
    description = (
        "Move a finger over the screen: `finger` says which way it goes (up shows what is further below), "
        "or `from` and `to` say it exactly. To see more of a list, use scroll."
    )
    arguments = SwipeArguments

    async def act(self, arguments: SwipeArguments, call: DeviceCall) -> None:
        if arguments.start is not None and arguments.end is not None:
            start, end = await spot_of(arguments.start, call), await spot_of(arguments.end, call)
            deed = f"swiped from {start.told} to {end.told}"
        elif arguments.finger is not None:
            start, end = await _path(arguments.finger, arguments, call)
            deed = f"swiped with the finger going {arguments.finger} from {start.told} to {end.told}"
        else:
            raise AssertionError("a swipe has a direction or two ends")
        await call.do(_action(start, end, arguments.duration_ms), deed)


class Scroll(DeviceTool[ScrollArguments]):
    name = "scroll"
    description = "Bring into sight what lies on one side, in the whole screen or in one element."
    arguments = ScrollArguments

    async def act(self, arguments: ScrollArguments, call: DeviceCall) -> None:
        if arguments.target is None:
            area = Bounds(0, 0, *await call.size_px())
        else:
            area = (await element_of(arguments.target, call)).visible
        x_way, y_way = _WAY[_FINGER_TO_REVEAL[arguments.reveal]]
        x_px, y_px = area.center_px
        start = _spot(x_px, y_px)
        end = _spot(
            x_px + x_way * (area.right_px - area.left_px) * _SCROLL_PERCENT // 100,
            y_px + y_way * (area.bottom_px - area.top_px) * _SCROLL_PERCENT // 100,
        )
        await call.do(_action(start, end, _SCROLL_MS), f"scrolled to reveal what is {_SIDE[arguments.reveal]}")


_SIDE: dict[Direction, str] = {"up": "above", "down": "below", "left": "on the left", "right": "on the right"}


async def _path(finger: Direction, arguments: SwipeArguments, call: DeviceCall) -> tuple[Spot, Spot]:
    """From the target; without one, half of the way lies on each side of the middle of the screen."""
    width_px, height_px = await call.size_px()
    x_way, y_way = _WAY[finger]
    x_by, y_by = (way * size * arguments.distance // 100 for way, size in ((x_way, width_px), (y_way, height_px)))
    if arguments.target is None:
        start = _spot((width_px - x_by) // 2, (height_px - y_by) // 2)
    else:
        start = await spot_of(arguments.target, call)
    end = _spot(start.x_px + x_by, start.y_px + y_by)
    if not (0 <= end.x_px < width_px and 0 <= end.y_px < height_px):
        message = (
            f"{arguments.distance} percent {finger} of {start.told} is {end.told}, outside the screen; go less far"
        )
        raise ToolFailed(ErrorCode.OUT_OF_BOUNDS, message)
    return start, end


def _spot(x_px: int, y_px: int) -> Spot:
    return Spot(x_px, y_px, f"({x_px}, {y_px})")


def _action(start: Spot, end: Spot, duration_ms: int) -> actions.Swipe:
    return actions.Swipe(start.x_px, start.y_px, end.x_px, end.y_px, duration_ms)
