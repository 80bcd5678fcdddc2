"""How a call says which place of the screen it means: in exactly one of three ways."""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Strict, Tag, model_validator

Coordinate = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]


class _Target(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ElementTarget(_Target):
    """An element by its index in the latest observation."""

    index: Whole = Field(ge=0, description="The number in brackets at the beginning of the element's line.")
    observation_id: str = Field(description="The observation that the index is from. It must be the latest.")


class PointTarget(_Target):
    """A point of the screen. `space` says what the numbers are: pixels, thousandths or hundredths of the screen."""

    x: Coordinate
    y: Coordinate
    space: Literal["px", "norm1000", "percent"]


class SelectorTarget(_Target):
    """The element with this text or id, looked for on the screen as it is now. If both are given, both must hold."""

    text: str | None = Field(
        default=None, min_length=1, max_length=200, description="The whole text, hint or description; case is ignored."
    )
    id: str | None = Field(default=None, min_length=1, max_length=200, description="The id as an observation shows it.")

    @model_validator(mode="after")
    def _has_one(self) -> "SelectorTarget":
        if self.text is None and self.id is None:
            raise ValueError("text or id is needed")
        return self

    def describe(self) -> str:
        given = (("text", self.text), ("id", self.id))
        return " and ".join(f"{name} {value!r}" for name, value in given if value is not None)


_WAYS = {
    "element": frozenset({"index", "observation_id"}),
    "point": frozenset({"x", "y", "space"}),
    "selector": frozenset({"text", "id"}),
}


def _way_of(value: Any) -> str | None:
    fields = set(cast("dict[str, Any]", value) if isinstance(value, dict) else getattr(value, "model_fields_set", ()))
    used = [way for way, names in _WAYS.items() if fields & names]
    return used[0] if len(used) == 1 else None


def _one_of(*, needs: str) -> Discriminator:
    return Discriminator(_way_of, custom_error_type="target", custom_error_message=f"must be exactly one of {needs}")


Target = Annotated[
    Annotated[ElementTarget, Tag("element")]
    | Annotated[PointTarget, Tag("point")]
    | Annotated[SelectorTarget, Tag("selector")],
    _one_of(needs="(index, observation_id), (x, y, space), or (text and/or id)"),
]
AnyElement = Annotated[
    Annotated[ElementTarget, Tag("element")] | Annotated[SelectorTarget, Tag("selector")],
    _one_of(needs="(index, observation_id), or (text and/or id)"),
]
