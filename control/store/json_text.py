"""Values on their way into `jsonb`."""

import json
from typing import Any


def as_json(value: Any) -> str | None:
    """The text of a JSON value, None for SQL's NULL. NUL, which Postgres cannot store, becomes U+FFFD."""
    return None if value is None else json.dumps(value, default=str).replace("\\u0000", "\\ufffd")
