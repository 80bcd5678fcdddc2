"""Turns what pydantic found wrong with a request into field problems: where, what, and what would be right."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from corral.contract.problems import FieldProblem

#: More than this many lines help nobody, and a hostile body could ask for thousands.
MAX_ERRORS = 50


def field_problems(error: RequestValidationError, route: object) -> list[FieldProblem]:
    """What is wrong, in the order in which it was found."""
    found: Sequence[Mapping[str, Any]] = error.errors()
    return [_field_problem(one, route) for one in found[:MAX_ERRORS]]


def summary(problems: Sequence[FieldProblem]) -> str:
    """One line for people that names the first mistake."""
    first = f"{problems[0].location}: {problems[0].message}"
    return first if len(problems) == 1 else f"{first} (and {len(problems) - 1} more)"


def _field_problem(error: Mapping[str, Any], route: object) -> FieldProblem:
    location = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return FieldProblem(
                location=location, message="there is no such field", allowed=_known_fields(error["loc"], route)
            )
        case "missing" if error["loc"] == ("body",):
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


def _known_fields(location: tuple[str | int, ...], route: object) -> list[str]:
    if location[:1] != ("body",) or len(location) != len(("body", "field")):
        return []
    body = route.body_field if isinstance(route, APIRoute) else None
    fields = getattr(body.field_info.annotation, "model_fields", {}) if body else {}
    return sorted(fields)
