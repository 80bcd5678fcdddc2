"""Problem documents (RFC 9457): every error of the public and of the host API has this shape and one of these codes."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from corral.contract.models import Tolerant


class ProblemCode(StrEnum):
    """A closed list: programs decide by the code, people read `detail`."""

    INVALID_REQUEST = "invalid_request"
    INVALID_FLOW = "invalid_flow"
    INVALID_PAGE_TOKEN = "invalid_page_token"  # noqa: S105 - a code, not a secret
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    TASK_NOT_FOUND = "task_not_found"
    HOST_NOT_FOUND = "host_not_found"
    KEY_NOT_FOUND = "key_not_found"
    ARTIFACT_NOT_FOUND = "artifact_not_found"
    ROUTE_NOT_FOUND = "route_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    BODY_TOO_LARGE = "body_too_large"
    TASK_ALREADY_TERMINAL = "task_already_terminal"
    STALE_LEASE = "stale_lease"
    RESULT_CONFLICT = "result_conflict"
    CANCEL_NOT_REQUESTED = "cancel_not_requested"
    STALE_INCARNATION = "stale_incarnation"
    NOT_READY = "not_ready"
    INTERNAL_ERROR = "internal_error"


class FieldProblem(Tolerant):
    """One thing that is wrong with a request: where it stands and what would be right."""

    location: str = Field(description="Where, as a path: `body.labels.team`, `query.status`, `header.idempotency-key`.")
    message: str
    allowed: list[str] = Field(default_factory=list, description="What is allowed there, where that is a short list.")


class Problem(Tolerant):
    """The body of every answer that is not a success, as `application/problem+json`."""

    type: str = Field(description="`urn:corral:problem:<code>`")
    title: str
    status: int
    code: ProblemCode
    detail: str
    request_id: str | None = None
    errors: list[FieldProblem] = Field(default_factory=list[FieldProblem])
    #: Facts that belong to the code: `task_status` of task_already_terminal, the stored result of result_conflict,
    #: file, line and command of invalid_flow.
    context: dict[str, Any] = Field(default_factory=dict)
