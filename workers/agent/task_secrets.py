"""Secrets of a task: a model knows their names, the phone gets their values, and nobody else sees these.

A value is looked up at the keystroke and nowhere else. Everything that leaves a tool goes through `redacted`, which
also knows the forms that a value takes on its way: quoted for a URL or a shell, escaped, encoded, line by line.
"""

import base64
import html
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, quote_plus

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
#: A shorter value stands by chance inside of longer words: it is only replaced as a word of its own.
_SHORTEST_PART = 4


class InvalidSecret(ValueError):
    """A secret has a name like SHOP_PASSWORD, and a value that is a text with something in it."""


class SecretNotGranted(LookupError):
    """There is no secret of this name for this task."""


class Secrets:
    """Name → value, and which names the task may use. Values of the others are redacted as well."""

    __slots__ = ("_forms", "_values", "names")

    def __init__(self, values: Mapping[str, str] | None = None, *, allowed: Iterable[str] | None = None) -> None:
        """`allowed`: the names that this task may use; all of them without it.

        Raises:
            InvalidSecret: a name or a value cannot be one. The message holds no value.
        """
        self._values = dict(values or {})
        for name, value in self._values.items():
            check_secret(name, value)
        granted = self._values.keys() if allowed is None else set(allowed) & self._values.keys()
        self.names: tuple[str, ...] = tuple(sorted(granted))
        forms = {form: name for name, value in self._values.items() for form in _forms_of(value)}
        self._forms = [(form, _pattern(form), name) for form, name in forms.items()]

    def __bool__(self) -> bool:
        """There is something to redact."""
        return bool(self._values)

    def value_of(self, name: str) -> str:
        """The value, for the keystroke. Raises `SecretNotGranted`."""
        if name not in self.names:
            raise SecretNotGranted(name)
        return self._values[name]

    def redacted(self, text: str) -> str:
        """The text with `[secret NAME]` in place of every value."""
        pieces, position = list[str](), 0
        for start, end, name in self._places(text):
            pieces += [text[position:start], f"[secret {name}]"]
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text

    def redacted_json(self, value: Any) -> Any:
        """The same for everything inside of a JSON value, keys of objects included."""
        match value:
            case str():
                return self.redacted(value)
            case dict():
                mapping = cast("dict[str, Any]", value)
                return {self.redacted(key): self.redacted_json(inner) for key, inner in mapping.items()}
            case list() | tuple():
                return [self.redacted_json(inner) for inner in cast("list[Any]", value)]
            case _:
                return value

    def _places(self, text: str) -> list[tuple[int, int, str]]:
        """Where values stand. Those that overlap are one place: no end of the second must stay behind."""
        places = list[tuple[int, int, str]]()
        for start, end, name in sorted(
            (found.start(1), found.end(1), name)
            for form, pattern, name in self._forms
            if form in text
            for found in pattern.finditer(text)
        ):
            if places and start < places[-1][1]:
                first, last, known_as = places[-1]
                places[-1] = (first, max(last, end), known_as)
            else:
                places.append((start, end, name))
        return places

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._values))})"

    def __reduce__(self) -> Any:
        raise TypeError("secrets are not stored")


def check_secret(name: object, value: object) -> None:
    """Raises `InvalidSecret`, with the name and without the value."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        # Not what was given: it may be a value in the wrong place.
        raise InvalidSecret("the name of a secret is made of letters, digits and _, such as SHOP_PASSWORD")
    if not isinstance(value, str):
        raise InvalidSecret(f"{name} is a {type(value).__name__}; the value of a secret is a text")
    if not value.strip():
        raise InvalidSecret(f"{name} is empty")


def _forms_of(value: str) -> Iterator[str]:
    """The value and what is made of it on the way; each of them at least once."""
    lines = [line for line in (part.strip() for part in value.splitlines()) if len(line) >= _SHORTEST_PART]
    for plain in {value, value.strip(), " ".join(value.split()), *lines}:
        yield plain
        yield shlex.quote(plain)[1:-1] if "'" in plain else plain
        for escaped in (json.dumps(plain), json.dumps(plain, ensure_ascii=False), repr(plain)):
            yield escaped[1:-1]
        for quoted in (quote(plain), quote(plain, safe=""), quote_plus(plain)):
            yield quoted
            yield re.sub(r"%[0-9A-F]{2}", lambda found: found.group().lower(), quoted)
        yield html.escape(plain)
        if len(plain) >= _SHORTEST_PART:
            yield base64.b64encode(plain.encode(errors="replace")).decode()


def _pattern(form: str) -> re.Pattern[str]:
    # In a look-ahead, so that values that overlap are all found.
    if len(form) >= _SHORTEST_PART:
        return re.compile(f"(?=({re.escape(form)}))")
    return re.compile(rf"(?<!\w)(?=({re.escape(form)})(?!\w))")
