"""Make what phones and exceptions say fit the wire: no NUL (Postgres), no lone surrogate (UTF-8), no field too long."""

import json
from typing import Any

FAILURE_REASON_CHARACTERS = 4000
PROGRESS_CHARACTERS = 500
#: A result is for people to read; whatever is larger belongs into an artifact.
RESULT_CHARACTERS = 256 * 1024


def fit_text(text: str, *, max_characters: int) -> str:
    """The text as it can be sent, with an ellipsis where it was cut."""
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return clean if len(clean) <= max_characters else clean[: max_characters - 1] + "…"


def fit_result(result: dict[str, Any]) -> dict[str, Any]:
    """The result as it can be sent; one that is too large is replaced by a sentence that says so."""
    clean = _clean(result)
    characters = len(json.dumps(clean))
    if characters > RESULT_CHARACTERS:
        return {"omitted": f"a result of {characters} characters is larger than {RESULT_CHARACTERS}"}
    return clean


def _clean(value: Any) -> Any:
    match value:
        case str():
            return fit_text(value, max_characters=RESULT_CHARACTERS)
        case dict():
            return {_clean(str(key)): _clean(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case list() | tuple():
            return [_clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return value
