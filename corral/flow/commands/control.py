"""Commands that hold commands. The parser reads what they hold; see `parser`."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.condition import Condition, condition_alone
from corral.flow.errors import InvalidCommand, UnsupportedExpression
from corral.flow.fields import Fields
from corral.flow.limits import MAX_STEPS

if TYPE_CHECKING:
    from corral.flow.commands.union import Command

_MAX_RETRIES = 3


class HoldingCommand(FlowCommand):
    """`commands` is never empty."""

    #: What the parser reads, for the list of what is allowed.
    content_fields: ClassVar[tuple[str, ...]] = ("commands",)

    commands: tuple["Command", ...]


class RunFlow(HoldingCommand):
    command: Literal["runFlow"] = "runFlow"
    short_form: ClassVar[str | None] = "file"
    content_fields: ClassVar[tuple[str, ...]] = ("commands", "file", "env")

    #: The file that the commands come from, as a path among those submitted; None if they are written in place.
    flow_file: str | None = None
    when: Condition | None = None

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"when": _read_when(fields)}

    @property
    def subject(self) -> str:
        when = f"when {self.when.describe()}" if self.when else ""
        return " ".join(part for part in (self.flow_file, when) if part)


class Repeat(HoldingCommand):
    command: Literal["repeat"] = "repeat"
    times: int

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        if fields.has("while"):
            message = "`while` is not supported: conditions that are computed are not built; use `times`"
            raise UnsupportedExpression(message, fields.place("while"), allowed=("times", "commands"))
        if not fields.has("times"):
            raise InvalidCommand("needs `times`", fields.place(), allowed=("times", "commands"))
        return {"times": fields.whole_number("times", default=1, at_least=1, at_most=MAX_STEPS)}

    @property
    def subject(self) -> str:
        return f"{self.times} times"


class Retry(HoldingCommand):
    """Runs its commands again, from the first, when one of them fails."""

    command: Literal["retry"] = "retry"
    content_fields: ClassVar[tuple[str, ...]] = ("commands", "file", "env")

    flow_file: str | None = None
    max_retries: int = 1

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"max_retries": fields.whole_number("maxRetries", default=1, at_most=_MAX_RETRIES)}

    @property
    def subject(self) -> str:
        return f"at most {self.max_retries} times"


def _read_when(fields: Fields) -> Condition | None:
    when = fields.nested("when")
    return None if when is None else condition_alone(when, place=fields.place("when"), named="when")
