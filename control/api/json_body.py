"""Reads the JSON of a request more strictly than Python does: what Postgres could not hold is refused.

Python's parser takes `NaN`, keeps the last of two equal keys, and goes as deep as its stack. Here each of these is an
error that names its place, so that nothing is stored which differs from what the sender meant.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias, cast

from control.domain.errors import InvalidRequest
from corral.contract.models import NUL
from corral.contract.problems import FieldProblem

#: Requests of this API are at most five levels deep; free-form facts and results may nest some more.
MAX_DEPTH = 64
_MAX_INTEGER = 2**63 - 1
#: Nothing else in JSON can become NUL, half a character, a number of more than 64 bits, or infinity.
_ODD = re.compile(r"\\u|[0-9]{19}|[0-9][eE]")
_CONTAINERS = frozenset({dict, list})

#: Where a value stands: its parent's place and the step from there. Written out only for an error.
_Place: TypeAlias = "tuple[_Place | None, str | int]"
_ROOT: _Place = (None, "body")


def read_json(body: bytes) -> Any:
    """The value that the bytes write down.

    Raises:
        InvalidRequest: the bytes are no JSON that Corral takes; the errors say where and why.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _refusal(f"is not UTF-8: byte {error.start} cannot be read") from None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _refusal(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _refusal(f"nests deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # int() refuses numbers of thousands of digits
        raise _refusal(f"holds a number that is too long: {error}") from None
    _check_values(value, has_odd_scalars=_ODD.search(text) is not None)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _refusal(f"has the key {_shown(twice)} twice in one object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise _refusal(f"holds {name}, which JSON does not know")


def _check_values(root: Any, *, has_odd_scalars: bool) -> None:
    """Look at every level, and at each text and number only where the bytes gave reason to."""
    open_values: list[tuple[_Place, int, Any]] = [(_ROOT, 1, root)]
    while open_values:
        place, depth, value = open_values.pop()
        if depth > MAX_DEPTH:
            raise _refusal(f"nests deeper than {MAX_DEPTH} levels")
        steps: Iterable[tuple[str | int, Any]]
        if isinstance(value, dict):
            steps = cast("dict[str, Any]", value).items()
        elif isinstance(value, list):
            steps = enumerate(cast("list[Any]", value))
        else:
            _check_scalar(value, place)
            continue
        for step, part in steps:
            if has_odd_scalars:
                _check_scalar(step, place)
            if has_odd_scalars or type(part) in _CONTAINERS:
                open_values.append(((place, step), depth + 1, part))


def _check_scalar(value: Any, place: "_Place") -> None:
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise _refusal("must fit into 64 bits", place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _refusal("is a number too large to be held", place)


def _check_text(text: str, place: "_Place") -> None:
    if NUL in text:
        raise _refusal("must not contain the NUL character", place)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _refusal("must be text that UTF-8 can carry: it contains a lone surrogate", place) from None


def _shown(key: str) -> str:
    return json.dumps(key[:100])


def _refusal(message: str, place: "_Place | None" = None) -> InvalidRequest:
    location = _words(place or _ROOT)
    return InvalidRequest(f"{location} {message}", errors=[FieldProblem(location=location, message=message)])


def _words(place: "_Place") -> str:
    words: list[str] = []
    here: _Place | None = place
    while here is not None:
        here, step = here
        words.append(str(step))
    return ".".join(reversed(words)).encode(errors="replace").decode()
