"""The report that is made of a run and of what the guard knows about its stop."""

from dataclasses import replace

from corral.contract.cancellation import StoppedBy
from corral.contract.history import FailureCause
from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.tasks import Progress
from workers.assignment.execution import AssignmentExecutionResult
from workers.assignment.fitting import FAILURE_REASON_CHARACTERS, fit_result, fit_text
from workers.assignment.guard import StopReason


def report_before_start(reason: StopReason) -> TerminalResultRequest:
    """Nothing was done on the device: the stop came first."""
    result = replace(result_of_stop(reason), stopped_by=StoppedBy.BEFORE_START)
    return terminal_report(result, reason=reason, progress=Progress())


def terminal_report(
    result: AssignmentExecutionResult, *, reason: StopReason | None, progress: Progress
) -> TerminalResultRequest:
    """Fit for the wire, and never `cancelled` unless this host was told to cancel."""
    if result.status == "cancelled" and reason is not StopReason.CANCELLED:
        result = AssignmentExecutionResult(
            status="failed",
            cause=FailureCause.INFRASTRUCTURE,
            failure_reason=f"the run ended as cancelled, but: {reason or 'nobody asked to cancel it'}",
            result=result.result,
        )
    result = _with_timeout_as_own_failure(result, reason=reason)
    return TerminalResultRequest(
        status=result.status,
        cause=result.cause,
        failure_reason=_fit_reason(result.failure_reason),
        stopped_by=result.stopped_by if result.status == "cancelled" else None,
        result=fit_result(result.result),
        progress=progress.model_copy(update={"checkpoint": result.status}),
    )


def result_of_stop(reason: StopReason) -> AssignmentExecutionResult:
    """What a stop comes to: only a cancel is `cancelled`, only the task's own time-out is the task's own failure."""
    match reason:
        case StopReason.CANCELLED:
            return AssignmentExecutionResult(status="cancelled", failure_reason=reason)
        case StopReason.TASK_TIMEOUT:
            return AssignmentExecutionResult(status="failed", cause=FailureCause.TASK, failure_reason=reason)
        case _:
            cause = FailureCause.INFRASTRUCTURE
            return AssignmentExecutionResult(status="failed", cause=cause, failure_reason=reason)


def result_of_crash(error: Exception, *, reason: StopReason | None) -> AssignmentExecutionResult:
    """What a run that ended by an error of ours comes to. After a cancel, our own stop may have caused the error."""
    words = f"{type(error).__name__}: {error}"
    if reason is StopReason.CANCELLED:
        return AssignmentExecutionResult(status="cancelled", failure_reason=f"{reason}; then {words}")
    return AssignmentExecutionResult(
        status="failed", cause=FailureCause.INFRASTRUCTURE, failure_reason=f"the host could not go on: {words}"
    )


def _with_timeout_as_own_failure(
    result: AssignmentExecutionResult, *, reason: StopReason | None
) -> AssignmentExecutionResult:
    """A run that was stopped because the task took too long has failed by itself: another attempt would, too."""
    was_too_slow = reason is StopReason.TASK_TIMEOUT and (result.failure_reason or "").startswith(reason)
    return replace(result, cause=FailureCause.TASK) if was_too_slow and result.status == "failed" else result


def _fit_reason(failure_reason: str | None) -> str | None:
    return failure_reason and fit_text(failure_reason, max_characters=FAILURE_REASON_CHARACTERS)
