"""What an operation refuses, named by what the caller does next. The edge makes problem documents of them."""

from typing import Any, ClassVar

from corral.contract.problems import FieldProblem, ProblemCode


class Refusal(Exception):
    """The request was understood and is refused; nothing was changed."""

    code: ClassVar[ProblemCode]

    def __init__(self, detail: str, *, errors: list[FieldProblem] | None = None, **context: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors or []
        self.context = context


class InvalidRequest(Refusal):
    """Correct the request; the errors say where and how."""

    code = ProblemCode.INVALID_REQUEST


class InvalidFlow(Refusal):
    """Correct the flow; the context names file, line and command."""

    code = ProblemCode.INVALID_FLOW


class InvalidPageToken(Refusal):
    """Start again from the first page."""

    code = ProblemCode.INVALID_PAGE_TOKEN


class IdempotencyKeyReused(Refusal):
    """Take another idempotency key: this one stands for another request."""

    code = ProblemCode.IDEMPOTENCY_KEY_REUSED


class Unauthenticated(Refusal):
    """Send a key or credential that is known here."""

    code = ProblemCode.UNAUTHENTICATED


class Forbidden(Refusal):
    """Use a key with the scope that the detail names."""

    code = ProblemCode.FORBIDDEN


class TaskNotFound(Refusal):
    """There is no such task."""

    code = ProblemCode.TASK_NOT_FOUND


class HostNotFound(Refusal):
    """There is no such host."""

    code = ProblemCode.HOST_NOT_FOUND


class KeyNotFound(Refusal):
    """There is no such API key."""

    code = ProblemCode.KEY_NOT_FOUND


class ArtifactNotFound(Refusal):
    """There is no such artifact."""

    code = ProblemCode.ARTIFACT_NOT_FOUND


class BodyTooLarge(Refusal):
    """Send less at once."""

    code = ProblemCode.BODY_TOO_LARGE


class TaskAlreadyTerminal(Refusal):
    """The task has ended by itself; there is nothing left to cancel."""

    code = ProblemCode.TASK_ALREADY_TERMINAL


class StaleLease(Refusal):
    """This lease has ended; stop the run and claim again."""

    code = ProblemCode.STALE_LEASE


class ResultConflict(Refusal):
    """Another result is recorded for this lease; the context shows it."""

    code = ProblemCode.RESULT_CONFLICT


class CancelNotRequested(Refusal):
    """Nobody asked to cancel this task: report what came of the run."""

    code = ProblemCode.CANCEL_NOT_REQUESTED


class StaleIncarnation(Refusal):
    """A later life of this host has spoken; this one must end."""

    code = ProblemCode.STALE_INCARNATION


class NotReady(Refusal):
    """Try again in a moment."""

    code = ProblemCode.NOT_READY
