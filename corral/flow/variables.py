"""`${NAME}`: names that stand for text. Nothing is evaluated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.flow.errors import Place, UndefinedVariable, UnsupportedExpression

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"(\\?)\$\{([^}]*)\}")
#: These look like names and are JavaScript.
_LITERALS = frozenset({"true", "false", "null", "undefined", "NaN", "Infinity", "this"})


def is_variable_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _LITERALS


@dataclass(frozen=True)
class Variables:
    """What names stand for at one place of a flow.

    A header's `env` are defaults: what is passed in (with the submit, or by a runFlow) wins over them. Among equals,
    the inner one wins.
    """

    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    passed: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_defaults(self, values: Mapping[str, str]) -> "Variables":
        return Variables({**self.defaults, **values}, self.passed)

    def with_passed(self, values: Mapping[str, str]) -> "Variables":
        return Variables(self.defaults, {**self.passed, **values})

    def fill(self, text: str, place: Place) -> str:
        r"""`text` with each `${NAME}` replaced; `\${` stays as `${`. What was put in is not looked at again."""
        if "${" not in text:
            return text
        values = {**self.defaults, **self.passed}

        def value_of(match: re.Match[str]) -> str:
            escape, name = match[1], match[2].strip()
            if escape:
                return match[0][1:]
            if not is_variable_name(name):
                raise UnsupportedExpression(
                    f"the expression `{match[0][:100]}` is JavaScript, which is not built; only names such as "
                    "`${USER_NAME}` are replaced",
                    place,
                )
            if name not in values:
                raise UndefinedVariable(
                    f"`{name[:100]}` has no value; give it in `env`", place, allowed=sorted(values), given=name
                )
            return values[name]

        return _REFERENCE.sub(value_of, text)
