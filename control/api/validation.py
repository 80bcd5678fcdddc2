"""What is wrong with a request, and which fields its route knows."""

from collections.abc import Sequence

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from control.domain import field_problems as words
from corral.contract.problems import FieldProblem


def field_problems(error: RequestValidationError, route: object) -> list[FieldProblem]:
    """What is wrong, in the order in which it was found."""
    return words.field_problems(error.errors(), root="body", known_fields=_known_fields(route))


def _known_fields(route: object) -> Sequence[str]:
    body = route.body_field if isinstance(route, APIRoute) else None
    return list(getattr(body.field_info.annotation, "model_fields", {})) if body else []
