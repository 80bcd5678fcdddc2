"""Make what phones, models and exceptions say fit the wire: no NUL (Postgres), no lone surrogate (UTF-8), no number
beyond 64 bits, nothing nested too deep, no field too long. A report that is refused for its form is lost for good.
"""

import json
from typing import Any, cast

FAILURE_REASON_CHARACTERS = 4000
PROGRESS_CHARACTERS = 500
#: A result is for people to read; whatever is larger belongs into an artifact.
RESULT_CHARACTERS = 256 * 1024
#: Levels of a result: somewhat less than what the control plane takes of the report around it.
RESULT_DEPTH = 50

_MAX_INTEGER = 2**63 - 1


def fit_text(text: str, *, max_characters: int) -> str:
    """The text as it can be sent, with an ellipsis where it was cut."""
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return clean if len(clean) <= max_characters else clean[: max_characters - 1] + "…"


def fit_result(result: dict[str, Any]) -> dict[str, Any]:
    """The result as it can be sent; what makes it too large is replaced by words that say so, the rest stays."""
    clean: dict[str, Any] = _clean(result)
    while (characters := _characters(clean)) > RESULT_CHARACTERS:
        _omit_largest(clean, characters)
    return clean


def _omit_largest(fields: dict[str, Any], characters: int) -> None:
    """Replaces the one value that is most of it, however deep it is, or else the largest of `fields`."""
    name, size = max(((name, _characters(value)) for name, value in fields.items()), key=lambda item: item[1])
    inner = fields[name]
    if isinstance(inner, dict) and any(
        _characters(value) > size / 2 for value in cast("dict[str, Any]", inner).values()
    ):
        _omit_largest(cast("dict[str, Any]", inner), characters)
    else:
        fields[name] = f"omitted: with it, the result has {characters} characters, more than {RESULT_CHARACTERS}"


def _characters(value: Any) -> int:
    return len(json.dumps(value))


def _clean(value: Any, *, depth: int = RESULT_DEPTH) -> Any:
    match value:
        case str():
            return fit_text(value, max_characters=RESULT_CHARACTERS)
        case int() if abs(value) > _MAX_INTEGER:
            # As a text it keeps all its digits.
            return _digits(value)
        case dict() | list() | tuple() if depth == 0:
            return "…"
        case dict():
            return {_clean(str(key)): _clean(item, depth=depth - 1) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case list() | tuple():
            return [_clean(item, depth=depth - 1) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return value


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # Python writes no number of thousands of digits
        return hex(number)
