"""What can happen when something on a screen is touched, typed or left."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, PlainValidator, Tag

from workers.phone.app.words import Condition, Value, parse_condition


class Strict(BaseModel):
    """An unknown or misspelt field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | dict | BaseModel | Condition) else value


def _condition(value: Any) -> Condition:
    if isinstance(value, Condition):
        return value
    return parse_condition(value if isinstance(value, str) else str(value))


#: One condition, or several that must all hold.
Conditions = Annotated[
    tuple[Annotated[Condition, PlainValidator(_condition)], ...],
    BeforeValidator(_listed),
]


class _Effect(Strict):
    when: Conditions = ()
    after_ms: int = Field(default=0, ge=0, le=600_000)


class Goto(_Effect):
    """Open a screen; back returns from it."""

    goto: str


class Back(_Effect):
    """Close this screen, as the Back key does."""

    back: Literal[True]


class Finish(_Effect):
    """Close the app and show the launcher."""

    finish: Literal[True]


class Assign(_Effect):
    """Give variables values; texts may hold `{name}`."""

    assign: dict[str, Value] = Field(alias="set", min_length=1)


class Add(_Effect):
    """Add to number variables."""

    add: dict[str, int] = Field(min_length=1)


class Toggle(_Effect):
    """Turn a true/false variable over."""

    toggle: str


class Toast(_Effect):
    """Show a line of text for two seconds."""

    toast: str


Effect = Goto | Back | Finish | Assign | Add | Toggle | Toast

_KEYS = ("goto", "back", "finish", "set", "add", "toggle", "toast")


def _key(value: Any) -> str | None:
    if isinstance(value, Assign):
        return "set"
    if isinstance(value, _Effect):
        return type(value).__name__.lower()
    found = [key for key in _KEYS if isinstance(value, dict) and key in value]
    return found[0] if len(found) == 1 else None


_OneEffect = Annotated[
    Annotated[Goto, Tag("goto")]
    | Annotated[Back, Tag("back")]
    | Annotated[Finish, Tag("finish")]
    | Annotated[Assign, Tag("set")]
    | Annotated[Add, Tag("add")]
    | Annotated[Toggle, Tag("toggle")]
    | Annotated[Toast, Tag("toast")],
    Discriminator(
        _key,
        custom_error_type="effect",
        custom_error_message=f"an effect has exactly one of {', '.join(_KEYS)} (besides when and after_ms)",
    ),
]

#: One effect, or several that happen in order.
Effects = Annotated[tuple[_OneEffect, ...], BeforeValidator(_listed)]
