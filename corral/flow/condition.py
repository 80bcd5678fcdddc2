"""What must be seen on the screen, and what must not."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from corral.flow.env import check_env
from corral.flow.errors import InvalidCommand, InvalidYaml, Place, UnsupportedExpression
from corral.flow.fields import Fields, fields_of
from corral.flow.selector import Selector, nested_selector
from corral.flow.variables import Variables
from corral.flow.yaml_tree import read_documents

_PARTS = ("visible", "notVisible")


class Condition(BaseModel):
    """Holds if all that is given holds; at least one of the two is given."""

    model_config = ConfigDict(frozen=True)

    visible: Selector | None = None
    not_visible: Selector | None = None

    def describe(self) -> str:
        parts = [f"visible {self.visible.describe()}"] if self.visible else []
        parts += [f"not visible {self.not_visible.describe()}"] if self.not_visible else []
        return ", ".join(parts)


def read_condition(fields: Fields) -> Condition | None:
    """The condition among the fields of a command, or None if there is no part of one."""
    visible, not_visible = nested_selector(fields, "visible"), nested_selector(fields, "notVisible")
    return Condition(visible=visible, not_visible=not_visible) if visible or not_visible else None


def condition_alone(fields: Fields, *, place: Place, named: str) -> Condition:
    """The condition that `fields` are, and nothing else; errors speak of it by the name that stands in the flow."""
    if fields.has("true"):
        message = f"`{named}: true:` is not supported: JavaScript is not evaluated; use `visible` or `notVisible`"
        raise UnsupportedExpression(message, fields.place("true"), allowed=_PARTS)
    fields.refuse({"platform": "every device here is Android"})
    condition = read_condition(fields)
    fields.finish()
    if condition is None:
        raise InvalidCommand(f"`{named}` needs a condition", place, allowed=_PARTS)
    return condition


def parse_condition(source: str, *, name: str = "verify", env: Mapping[str, str] | None = None) -> Condition:
    """The condition in `source`, written as behind `when:` of a `runFlow`: `visible: Saved`. Pure.

    `env` gives values to `${NAME}`. Raises a `FlowError` that names `name`, the line, and what is allowed there.
    """
    check_env(env or {}, file=name)
    documents = read_documents(source, file=name)
    if len(documents) != 1:
        raise InvalidYaml("must be one condition, such as `visible: Saved`", Place(name), allowed=_PARTS)
    fields = fields_of(documents[0], None, file=name, command=None, variables=Variables(passed=env or {}))
    return condition_alone(fields, place=fields.place(), named=name)
