"""Variables of an app in texts (`{count}`) and in conditions (`count > 2`)."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Value = str | int | bool
Values = Mapping[str, Value]

_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_NAME = re.compile(r"(?P<negated>not\s+)?(?P<name>[a-z_][a-z0-9_]*)")
_COMPARISON = re.compile(
    r"(?P<name>[a-z_][a-z0-9_]*)\s*(?P<operator>==|!=|<=|>=|<|>|contains)\s*"
    r"(?P<literal>'[^']*'|\"[^\"]*\"|-?\d+|true|false|[a-z_][a-z0-9_]*)"
)
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def placeholders(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(text))


def fill(text: str, values: Values) -> str:
    """The text with its `{name}`s replaced; braces that hold no name stay as they are."""
    if "{" not in text:
        return text
    return _PLACEHOLDER.sub(lambda match: shown(values[match[1]]), text)


def shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Name:
    """Another variable on the right side of a comparison."""

    name: str


@dataclass(frozen=True, slots=True)
class Condition:
    """`count > 2`, `done`, `not done`, `name == 'Ann'`, `name contains 'n'`, `first == second`."""

    name: str
    operator: str
    right: Value | Name

    @property
    def names(self) -> set[str]:
        return {self.name, self.right.name} if isinstance(self.right, Name) else {self.name}

    def holds(self, values: Values) -> bool:
        left = values[self.name]
        right = values[self.right.name] if isinstance(self.right, Name) else self.right
        match self.operator:
            case "truthy":
                return bool(left) is right
            case "==":
                return shown(left) == shown(right)
            case "!=":
                return shown(left) != shown(right)
            case "contains":
                return shown(right) in shown(left)
            case sign:
                return isinstance(left, int) and isinstance(right, int) and _COMPARE[sign](left, right)


def parse_condition(text: str) -> Condition:
    """Read one condition.

    Raises:
        ValueError: it has none of the forms; the text says which there are.
    """
    if match := _NAME.fullmatch(text.strip()):
        return Condition(match["name"], "truthy", not match["negated"])
    if match := _COMPARISON.fullmatch(text.strip()):
        return Condition(match["name"], match["operator"], _literal(match["literal"]))
    raise ValueError(
        f"{text!r} is no condition; write NAME, not NAME, or NAME OPERATOR VALUE "
        "with == != < <= > >= contains and a 'text', a number, true, false or a variable"
    )


def _literal(text: str) -> Value | Name:
    if text[0] in "'\"":
        return text[1:-1]
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else Name(text)
