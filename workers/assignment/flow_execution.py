"""The run of an assignment that is a flow."""

import asyncio
from dataclasses import replace

from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import Progress
from corral.flow.errors import FlowError
from corral.flow.flow import Flow
from corral.flow.parser import parse_flow
from workers.assignment.execution import AssignmentExecutionResult, CannotRun, Sinks
from workers.assignment.guard import LeaseGuard, StopReason
from workers.device.interface import AnyDevice
from workers.run.result import Checkpoint, RunResult
from workers.run.runner import WorkflowRunner


class FlowExecution:
    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    @classmethod
    async def prepared(cls, assignment: Assignment) -> "FlowExecution":
        """Raises `CannotRun`."""
        try:
            # In a thread: a long flow takes a while to read, and other leases are renewed meanwhile.
            return cls(await asyncio.to_thread(_flow_of, assignment))
        except FlowError as error:
            raise CannotRun(FailureCause.TASK, f"this host cannot read the flow: {error}") from error

    async def run(self, device: AnyDevice, guard: LeaseGuard, sinks: Sinks) -> AssignmentExecutionResult:
        runner = WorkflowRunner(
            self._flow,
            device,
            should_stop=guard.should_stop,
            stop_reason=guard.stop_reason,
            stopped=guard.stopped,
            on_checkpoint=lambda checkpoint: sinks.on_progress(progress_of(checkpoint)),
            on_artifact=sinks.on_artifact,
        )
        return with_timeout_as_own_failure(_execution_result(await runner.run()), reason=guard.reason)


def _flow_of(assignment: Assignment) -> Flow:
    return parse_flow(assignment.flow or "", files=assignment.files, env=assignment.env)


def _execution_result(run: RunResult) -> AssignmentExecutionResult:
    return AssignmentExecutionResult(
        status=run.status,
        cause=FailureCause(run.cause) if run.cause else None,
        failure_reason=run.failure_reason,
        result={
            "steps_total": run.steps_total,
            "steps_finished": run.steps_finished,
            "warnings": list(run.warnings),
            "artifacts": list(run.artifacts),
        },
    )


def with_timeout_as_own_failure(
    result: AssignmentExecutionResult, *, reason: StopReason | None
) -> AssignmentExecutionResult:
    """A run that was stopped because the task took too long has failed by itself: another attempt would, too."""
    was_too_slow = reason is StopReason.TASK_TIMEOUT and (result.failure_reason or "").startswith(reason)
    return replace(result, cause=FailureCause.TASK) if was_too_slow and result.status == "failed" else result


def progress_of(checkpoint: Checkpoint) -> Progress:
    return Progress(
        step=checkpoint.step,
        steps_total=checkpoint.steps_total,
        text=checkpoint.text[:500],
        checkpoint=checkpoint.status,
    )
