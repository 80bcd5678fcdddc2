"""Every error becomes a problem document (RFC 9457) here: one table says which status and title belong to a code."""

from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from control.domain.errors import Refusal
from corral.contract.problems import FieldProblem, Problem, ProblemCode

MEDIA_TYPE = "application/problem+json"

#: Postgres or its pool comes back within seconds or not at all; hosts and clients ask again then.
RETRY_AFTER_SECONDS = 2

STATUS_AND_TITLE: dict[ProblemCode, tuple[HTTPStatus, str]] = {
    ProblemCode.INVALID_REQUEST: (HTTPStatus.UNPROCESSABLE_ENTITY, "The request is not valid"),
    ProblemCode.INVALID_FLOW: (HTTPStatus.UNPROCESSABLE_ENTITY, "The flow is not valid"),
    ProblemCode.INVALID_PAGE_TOKEN: (HTTPStatus.UNPROCESSABLE_ENTITY, "The page token is not valid"),
    ProblemCode.IDEMPOTENCY_KEY_REUSED: (
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The idempotency key stands for another request",
    ),
    ProblemCode.UNAUTHENTICATED: (HTTPStatus.UNAUTHORIZED, "A known key or credential is needed"),
    ProblemCode.FORBIDDEN: (HTTPStatus.FORBIDDEN, "The key or credential does not allow this"),
    ProblemCode.TASK_NOT_FOUND: (HTTPStatus.NOT_FOUND, "There is no such task"),
    ProblemCode.HOST_NOT_FOUND: (HTTPStatus.NOT_FOUND, "There is no such host"),
    ProblemCode.KEY_NOT_FOUND: (HTTPStatus.NOT_FOUND, "There is no such key"),
    ProblemCode.ARTIFACT_NOT_FOUND: (HTTPStatus.NOT_FOUND, "There is no such artifact"),
    ProblemCode.ROUTE_NOT_FOUND: (HTTPStatus.NOT_FOUND, "There is nothing at this address"),
    ProblemCode.METHOD_NOT_ALLOWED: (HTTPStatus.METHOD_NOT_ALLOWED, "This method is not allowed here"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body must be JSON"),
    ProblemCode.BODY_TOO_LARGE: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large"),
    ProblemCode.TASK_ALREADY_TERMINAL: (HTTPStatus.CONFLICT, "The task is already terminal"),
    ProblemCode.STALE_LEASE: (HTTPStatus.CONFLICT, "The lease has ended"),
    ProblemCode.RESULT_CONFLICT: (HTTPStatus.CONFLICT, "Another result is recorded"),
    ProblemCode.CANCEL_NOT_REQUESTED: (HTTPStatus.CONFLICT, "Nobody asked to cancel this task"),
    ProblemCode.STALE_INCARNATION: (HTTPStatus.CONFLICT, "A later life of this host has spoken"),
    ProblemCode.NOT_READY: (HTTPStatus.SERVICE_UNAVAILABLE, "Corral is not ready"),
    ProblemCode.INTERNAL_ERROR: (HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong inside Corral"),
}

_HEADERS: dict[ProblemCode, dict[str, str]] = {
    ProblemCode.UNAUTHENTICATED: {"WWW-Authenticate": "Bearer"},
    ProblemCode.NOT_READY: {"Retry-After": str(RETRY_AFTER_SECONDS)},
    # The rest of the body is not read, so the connection cannot carry another request.
    ProblemCode.BODY_TOO_LARGE: {"Connection": "close"},
}


def problem_response(
    code: ProblemCode,
    detail: str,
    *,
    request_id: str | None,
    errors: list[FieldProblem] | None = None,
    context: dict[str, Any] | None = None,
) -> Response:
    """The problem document of `code`, with the headers that belong to it."""
    status, title = STATUS_AND_TITLE[code]
    problem = Problem(
        type=f"urn:corral:problem:{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        request_id=request_id,
        errors=errors or [],
        context=context or {},
    )
    return Response(
        problem.model_dump_json(), status_code=int(status), media_type=MEDIA_TYPE, headers=_HEADERS.get(code)
    )


def refusal_response(refusal: Refusal, *, request_id: str | None) -> Response:
    """The problem document of what an operation or the edge itself refused."""
    return problem_response(
        refusal.code, refusal.detail, request_id=request_id, errors=refusal.errors, context=refusal.context
    )
