"""Which element of the screen is meant."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields
from corral.flow.patterns import TextPattern

#: Beyond this no screen has elements; also what a negative index may count back.
_MAX_INDEX = 9_999

_RELATIONS = ("below", "above", "leftOf", "rightOf", "containsChild", "childOf")
_STATES = ("enabled", "checked", "focused", "selected")
#: What may name an element.
ELEMENT_FIELDS = ("text", "id", "index", *_STATES, *_RELATIONS)
_NOT_BUILT = {
    "containsDescendants": "use `containsChild`",
    "traits": "use `text` or `id`",
    "css": "web views are not looked into",
    **dict.fromkeys(("width", "height", "tolerance"), "elements are not chosen by size"),
}


class Selector(BaseModel):
    """All that is given must hold. `index` chooses among what matches, from the top left; -1 is the last."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    text: TextPattern | None = None
    id: TextPattern | None = None
    index: int | None = None
    enabled: bool | None = None
    checked: bool | None = None
    focused: bool | None = None
    selected: bool | None = None
    below: "Selector | None" = None
    above: "Selector | None" = None
    left_of: "Selector | None" = None
    right_of: "Selector | None" = None
    contains_child: "Selector | None" = None
    child_of: "Selector | None" = None

    def describe(self) -> str:
        """For people: `text "Login", index 1`."""
        parts = [f'text "{self.text.source}"'] if self.text else []
        parts += [f"id {self.id.source}"] if self.id else []
        parts += [f"index {self.index}"] if self.index is not None else []
        for state in _STATES:
            wanted: bool | None = getattr(self, state)
            parts += [] if wanted is None else [state if wanted else f"not {state}"]
        for relation in _RELATIONS:
            other: Selector | None = getattr(self, _attribute(relation))
            parts += [f"{relation} ({other.describe()})"] if other else []
        return ", ".join(parts)


def read_selector(fields: Fields) -> Selector | None:
    """The selector among the fields of a command, or None if there is no part of one."""
    fields.refuse(_NOT_BUILT)
    values: dict[str, Any] = {"text": fields.pattern("text"), "id": fields.pattern("id")}
    has_index = fields.has("index")
    index = fields.whole_number("index", default=0, at_least=-_MAX_INDEX, at_most=_MAX_INDEX)
    values["index"] = index if has_index else None
    values |= {state: fields.flag(state) for state in _STATES}
    values |= {_attribute(relation): nested_selector(fields, relation) for relation in _RELATIONS}
    return Selector(**values) if any(value is not None for value in values.values()) else None


def required_selector(fields: Fields) -> Selector:
    selector = read_selector(fields)
    if selector is None:
        raise InvalidCommand("needs an element", fields.place(), allowed=ELEMENT_FIELDS)
    return selector


def nested_selector(fields: Fields, name: str) -> Selector | None:
    """The selector in the field `name`: a mapping, or a text alone."""
    nested = fields.nested(name, short_form="text")
    if nested is None:
        return None
    selector = required_selector(nested)
    nested.finish()
    return selector


def _attribute(relation: str) -> str:
    return {"leftOf": "left_of", "rightOf": "right_of", "containsChild": "contains_child", "childOf": "child_of"}.get(
        relation, relation
    )
