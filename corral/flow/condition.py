"""What must be seen on the screen, and what must not."""

from pydantic import BaseModel, ConfigDict

from corral.flow.fields import Fields
from corral.flow.selector import Selector, nested_selector


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
