"""Putting a finger on an element or on a point."""

from typing import Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields
from corral.flow.limits import MAX_WAIT_MS
from corral.flow.point import Point, read_point
from corral.flow.selector import ELEMENT_FIELDS, Selector, read_selector

_MAX_REPEAT = 100
_SETTLES = "the next look-up waits by itself"
_NOT_BUILT = {"waitUntilVisible": "a tap always waits for its element", "waitToSettleTimeoutMs": _SETTLES}


class TapCommand(FlowCommand):
    """With a selector and a point, the point is inside the element; with a point alone, on the screen."""

    short_form: ClassVar[str | None] = "text"

    selector: Selector | None = None
    point: Point | None = None

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        fields.refuse(_NOT_BUILT)
        selector, point = read_selector(fields), read_point(fields, "point")
        if selector is None and point is None:
            raise InvalidCommand("needs an element or a point", fields.place(), allowed=("point", *ELEMENT_FIELDS))
        return {"selector": selector, "point": point}

    @property
    def subject(self) -> str:
        parts = [self.selector.describe()] if self.selector else []
        parts += [f"point {self.point.describe()}"] if self.point else []
        return ", ".join(parts)


class TapOn(TapCommand):
    command: Literal["tapOn"] = "tapOn"
    repeat: int = 1
    delay_ms: int = 100
    retry_tap_if_no_change: bool = False

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return super().values(fields) | {
            "repeat": fields.whole_number("repeat", default=1, at_least=1, at_most=_MAX_REPEAT),
            "delay_ms": fields.whole_number("delay", default=100, at_most=MAX_WAIT_MS),
            "retry_tap_if_no_change": fields.flag("retryTapIfNoChange") or False,
        }


class DoubleTapOn(TapCommand):
    command: Literal["doubleTapOn"] = "doubleTapOn"


class LongPressOn(TapCommand):
    command: Literal["longPressOn"] = "longPressOn"
