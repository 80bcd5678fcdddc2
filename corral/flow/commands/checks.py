"""Looking at the screen, and waiting for it."""

import re
from typing import Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.condition import Condition, read_condition
from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields
from corral.flow.limits import MAX_WAIT_MS
from corral.flow.selector import Selector, required_selector

#: A screenshot becomes a file of this name; it cannot leave the folder it is put into.
_SCREENSHOT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,79}")


class AssertCommand(FlowCommand):
    short_form: ClassVar[str | None] = "text"
    selector: Selector

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"selector": required_selector(fields)}

    @property
    def subject(self) -> str:
        return self.selector.describe()


class AssertVisible(AssertCommand):
    command: Literal["assertVisible"] = "assertVisible"


class AssertNotVisible(AssertCommand):
    command: Literal["assertNotVisible"] = "assertNotVisible"


class ExtendedWaitUntil(FlowCommand):
    """Waits until all that is given holds. Without `timeout`, as long as any look-up."""

    command: Literal["extendedWaitUntil"] = "extendedWaitUntil"
    condition: Condition
    timeout_ms: int | None = None

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        condition = read_condition(fields)
        if condition is None:
            raise InvalidCommand(
                "needs `visible` or `notVisible`", fields.place(), allowed=("visible", "notVisible", "timeout")
            )
        has_timeout = fields.has("timeout")
        timeout_ms = fields.whole_number("timeout", default=0, at_most=MAX_WAIT_MS)
        return {"condition": condition, "timeout_ms": timeout_ms if has_timeout else None}

    @property
    def subject(self) -> str:
        return self.condition.describe()


class WaitForAnimationToEnd(FlowCommand):
    """Until two looks are the same, or the time is up; never fails."""

    command: Literal["waitForAnimationToEnd"] = "waitForAnimationToEnd"
    timeout_ms: int = 15_000

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"timeout_ms": fields.whole_number("timeout", default=15_000, at_most=MAX_WAIT_MS)}


class TakeScreenshot(FlowCommand):
    command: Literal["takeScreenshot"] = "takeScreenshot"
    short_form: ClassVar[str | None] = "path"

    #: Without the ending `.png`.
    name: str

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        fields.refuse({"cropOn": "screenshots are whole screens"})
        name = fields.required_text("path")
        if not _SCREENSHOT_NAME.fullmatch(name):
            allowed = (
                "a file name of letters, digits, `_`, `.`, `-` and spaces, without folders, up to 80 characters",
            )
            raise InvalidCommand(f"`path` is `{name[:60]}`", fields.place("path"), allowed=allowed)
        return {"name": name.removesuffix(".png")}

    @property
    def subject(self) -> str:
        return self.name
