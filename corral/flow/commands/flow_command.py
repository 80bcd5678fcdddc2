"""What every command has."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields


class FlowCommand(BaseModel):
    """`optional` turns a failure into a warning; `label` is what people read instead of the command."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    #: The field that a plain text after the command stands for, as in `- tapOn: Login`.
    short_form: ClassVar[str | None] = None

    file: str
    line: int
    label: str | None = None
    optional: bool = False

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        """The command's own fields, read and checked. Overridden by every command that has some."""
        del fields
        return {}

    @property
    def subject(self) -> str:
        """What the command is about, for people. Never the text that is typed: it may be a secret."""
        return ""

    def describe(self) -> str:
        name: str = getattr(self, "command", "")
        return self.label or " ".join(part for part in (name, self.subject) if part)


def common_values(fields: Fields) -> dict[str, Any]:
    return {
        "file": fields.file,
        "line": fields.line,
        "label": fields.text("label"),
        "optional": fields.flag("optional") or False,
    }


def only_one_of(fields: Fields, *names: str) -> str:
    """The one of `names` that is given. None, or more than one, is an error."""
    given = [name for name in names if fields.has(name)]
    if len(given) != 1:
        problem = "needs one of" if not given else "takes only one of"
        raise InvalidCommand(f"{problem} {', '.join(f'`{name}`' for name in names)}", fields.place(), allowed=names)
    return given[0]
