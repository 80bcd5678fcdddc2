"""Reads the JSON of a request more strictly than Python does: what Postgres could not hold is refused.

Python's parser takes `NaN`, keeps the last of two equal keys, and goes as deep as its stack. Here each of these is an
error that names its place, so that nothing is stored which differs from what the sender meant.
"""

import json
import math
from typing import Any, NoReturn, cast

from control.domain.errors import InvalidRequest
from corral.contract.models import NUL
from corral.contract.problems import FieldProblem

#: Requests of this API are at most five levels deep; free-form facts and results may nest some more.
MAX_DEPTH = 64
_MAX_INTEGER = 2**63 - 1


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
    _check_values(value)
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


def _check_values(root: Any) -> None:
    open_values: list[tuple[str, int, Any]] = [("body", 1, root)]
    while open_values:
        place, depth, value = open_values.pop()
        if depth > MAX_DEPTH:
            raise _refusal(f"nests deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            for key in members:
                _check_text(key, place)
            open_values.extend((f"{place}.{key}", depth + 1, member) for key, member in members.items())
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            open_values.extend((f"{place}.{index}", depth + 1, item) for index, item in enumerate(items))
        else:
            _check_scalar(value, place)


def _check_scalar(value: Any, place: str) -> None:
    match value:
        case str():
            _check_text(value, place)
        case int() if abs(value) > _MAX_INTEGER:
            raise _refusal("must fit into 64 bits", place)
        case float() if not math.isfinite(value):
            raise _refusal("is a number too large to be held", place)
        case _:
            pass


def _check_text(text: str, place: str) -> None:
    if NUL in text:
        raise _refusal("must not contain the NUL character", place)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _refusal("must be text that UTF-8 can carry: it contains a lone surrogate", place) from None


def _shown(key: str) -> str:
    return json.dumps(key[:100])


def _refusal(message: str, place: str = "body") -> InvalidRequest:
    shown = place.encode(errors="replace").decode()
    return InvalidRequest(f"{shown} {message}", errors=[FieldProblem(location=shown, message=message)])
