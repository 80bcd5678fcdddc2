r"""`${…}` in the arguments of a script: what is only known when the screen was read.

    ${index:Save}        the index of the element whose text or id is `Save`, on the screen that was observed last
    ${observation_id}    the id of that observation

A value that is one reference and nothing else becomes what it stands for, so that an index is a number. `\${` is `${`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

_REFERENCE = re.compile(r"(\\?)\$\{([^}]*)\}")
_INDEX = "index:"


class UnknownReference(ValueError):
    """A `${…}` that is neither `${index:TEXT}` nor `${observation_id}`."""


@dataclass(frozen=True, slots=True)
class ElementIndex:
    """The index of the element with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class ObservationId:
    """The id of the last observation."""


Reference = ElementIndex | ObservationId


def filled(value: Any, resolve: Callable[[Reference], int | str]) -> Any:
    """A JSON value with every reference in its texts replaced by what `resolve` says. Raises `UnknownReference`."""
    if isinstance(value, str):
        return _filled_text(value, resolve)
    if isinstance(value, list):
        return [filled(item, resolve) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: filled(item, resolve) for key, item in cast("dict[str, Any]", value).items()}
    return value


def check_references(value: Any) -> None:
    """Raises `UnknownReference` for the first reference that nothing could ever resolve."""
    filled(value, lambda _reference: 0)


def _filled_text(text: str, resolve: Callable[[Reference], int | str]) -> int | str:
    whole = _REFERENCE.fullmatch(text)
    if whole and not whole[1]:
        return resolve(_reference(whole[2]))
    return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else str(resolve(_reference(match[2]))), text)


def _reference(content: str) -> Reference:
    name = content.strip()
    if name == "observation_id":
        return ObservationId()
    text = name.removeprefix(_INDEX).strip()
    if name.startswith(_INDEX) and text:
        return ElementIndex(text)
    raise UnknownReference(f"`${{{content[:60]}}}` is unknown; there are `${{index:TEXT}}` and `${{observation_id}}`")
