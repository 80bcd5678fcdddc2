"""What of an event is replaced before it is recorded, and what is the log's own."""

from collections.abc import Callable
from typing import Any, cast

#: Fields that are the log's own words, or name a thing: a secret that happens to read `done` must not break them.
_NOT_REDACTED = frozenset({
    "event", "kind", "role", "status", "source", "code", "budget", "tool", "provider", "signature",
    "session_id", "parent_session_id", "forked_from", "call_id", "sha256", "media_type",
})  # fmt: skip

#: Fields whose insides belong to the model: names in there are no words of ours.
_FREE = frozenset({"arguments", "output"})


def redacted_fields(value: Any, redact: Callable[[str], str], *, is_free: bool = False) -> Any:
    """The fields of an event, with `redact` on all texts but the log's own words; of text only what a file can hold."""
    match value:
        case str():
            # Half of a surrogate pair, which JSON can spell, is no text that a file can hold.
            return redact(value.encode(errors="replace").decode())
        case dict():
            fields = cast("dict[Any, Any]", value).items()
            return dict(_redacted_field(key, item, redact, is_free=is_free) for key, item in fields)
        case list() | tuple():
            return [redacted_fields(item, redact, is_free=is_free) for item in cast("list[Any]", value)]
        case _:
            return value


def _redacted_field(key: Any, item: Any, redact: Callable[[str], str], *, is_free: bool) -> tuple[Any, Any]:
    if is_free:
        return redacted_fields(key, redact), redacted_fields(item, redact, is_free=True)
    return key, redacted_fields(item, unchanged_text if key in _NOT_REDACTED else redact, is_free=key in _FREE)


def unchanged_text(text: str) -> str:
    """Where nothing is to be redacted."""
    return text
