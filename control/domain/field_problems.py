"""What pydantic found wrong, as field problems: where, what, and what would be right."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from corral.contract.problems import FieldProblem

#: More than this many lines help nobody, and a hostile body could ask for thousands.
MAX_ERRORS = 50


def field_problems(found: Sequence[Mapping[str, Any]], *, root: str, known_fields: Sequence[str]) -> list[FieldProblem]:
    """The errors of pydantic in their order.

    Args:
        found: what `errors()` of pydantic's exception answers.
        root: what each place of a field of the whole begins with, such as `body`.
        known_fields: the fields that there are directly below the root.
    """
    return [_field_problem(one, root, known_fields) for one in found[:MAX_ERRORS]]


def summary(problems: Sequence[FieldProblem]) -> str:
    """One line for people that names the first mistake."""
    first = f"{problems[0].location}: {problems[0].message}"
    return first if len(problems) == 1 else f"{first} (and {len(problems) - 1} more)"


def _field_problem(error: Mapping[str, Any], root: str, known_fields: Sequence[str]) -> FieldProblem:
    place: Sequence[str | int] = error["loc"]
    location = ".".join(str(part) for part in place)
    match error["type"]:
        case "extra_forbidden":
            is_of_root = place[:1] == (root,) and len(place) == len((root, "field"))
            return FieldProblem(
                location=location, message="there is no such field", allowed=sorted(known_fields) if is_of_root else []
            )
        case "missing" if place == (root,):
            return FieldProblem(location=location, message="a JSON body is needed here")
        case _:
            return FieldProblem(location=location, message=_message(error), allowed=_allowed(error))


def _message(error: Mapping[str, Any]) -> str:
    # Pydantic puts its own words before those of a validator; the validator's say it all.
    return str(error["msg"]).removeprefix("Value error, ")


def _allowed(error: Mapping[str, Any]) -> list[str]:
    if error["type"] not in {"enum", "literal_error"}:
        return []
    return re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
