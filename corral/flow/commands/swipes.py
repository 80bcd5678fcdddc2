"""Moving a finger over the screen.

`swipe` names where the finger goes, `scrollUntilVisible` what is to be seen: `DOWN` shows what is further down.
"""

from enum import StrEnum
from typing import Any, Literal

from corral.flow.commands.flow_command import FlowCommand, only_one_of
from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields
from corral.flow.limits import MAX_GESTURE_MS, MAX_WAIT_MS
from corral.flow.point import Point, read_point
from corral.flow.selector import Selector, nested_selector, required_selector

_NOT_BUILT = {"waitToSettleTimeoutMs": "the next look-up waits by itself"}
_PERCENT = 100


class Direction(StrEnum):
    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"

    @property
    def is_vertical(self) -> bool:
        return self in {Direction.UP, Direction.DOWN}


_DIRECTIONS = {direction.value: direction for direction in Direction}


class Swipe(FlowCommand):
    """Either `direction`, from the middle of `from_element` or of the screen, or `start` and `end`."""

    command: Literal["swipe"] = "swipe"
    direction: Direction | None = None
    from_element: Selector | None = None
    start: Point | None = None
    end: Point | None = None
    duration_ms: int = 400

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        fields.refuse(_NOT_BUILT)
        values: dict[str, Any] = {
            "direction": fields.choice("direction", _DIRECTIONS),
            "from_element": nested_selector(fields, "from"),
            "start": read_point(fields, "start"),
            "end": read_point(fields, "end"),
            "duration_ms": fields.whole_number("duration", default=400, at_least=1, at_most=MAX_GESTURE_MS),
        }
        if only_one_of(fields, "direction", "start") == "start":
            if values["end"] is None:
                raise fields.missing("end")
            if values["from_element"]:
                raise InvalidCommand("`from` goes with `direction`, not with `start`", fields.place("from"))
        elif values["end"]:
            raise InvalidCommand("`end` goes with `start`, not with `direction`", fields.place("end"))
        return values

    @property
    def subject(self) -> str:
        if self.start and self.end:
            return f"from {self.start.describe()} to {self.end.describe()}"
        origin = f" from {self.from_element.describe()}" if self.from_element else ""
        return f"{self.direction}{origin}"


class Scroll(FlowCommand):
    """Shows what is further down."""

    command: Literal["scroll"] = "scroll"


class ScrollUntilVisible(FlowCommand):
    command: Literal["scrollUntilVisible"] = "scrollUntilVisible"
    element: Selector
    direction: Direction = Direction.DOWN
    timeout_ms: int = 20_000
    speed: int = 40
    visibility_percentage: int = 100
    center_element: bool = False

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        fields.refuse(_NOT_BUILT)
        element = fields.nested("element", short_form="text")
        if element is None:
            raise fields.missing("element")
        values: dict[str, Any] = {
            "element": required_selector(element),
            "direction": fields.choice("direction", _DIRECTIONS) or Direction.DOWN,
            "timeout_ms": fields.whole_number("timeout", default=20_000, at_most=MAX_WAIT_MS),
            "speed": fields.whole_number("speed", default=40, at_most=_PERCENT),
            "visibility_percentage": fields.whole_number("visibilityPercentage", default=_PERCENT, at_most=_PERCENT),
            "center_element": fields.flag("centerElement") or False,
        }
        # Maestro lets the element say that the whole command is optional.
        if element.flag("optional"):
            values["optional"] = True
        element.finish()
        return values

    @property
    def subject(self) -> str:
        return self.element.describe()
