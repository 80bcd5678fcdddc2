"""Values on their way into `jsonb`."""

import json
import math
import re
from typing import Any, cast

#: What `json.dumps` writes and `jsonb` refuses: NUL, half a character (or, harmlessly, a whole one), no number at all.
_ODD = re.compile(r"\\u0000|\\ud[89a-f]|NaN|Infinity")


def as_json(value: Any) -> str | None:
    """The text of a JSON value, None for SQL's NULL. What Postgres cannot hold becomes U+FFFD, `?` or null."""
    if value is None:
        return None
    text = json.dumps(value, default=str)
    return json.dumps(_storable(json.loads(text))) if _ODD.search(text) else text


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        case dict():
            return {_storable(key): _storable(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_storable(item) for item in cast("list[Any]", value)]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
