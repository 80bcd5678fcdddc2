"""The run of an assignment that is a flow."""

import asyncio

from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.flow.errors import FlowError
from corral.flow.flow import Flow
from corral.flow.parser import parse_flow
from workers.assignment.execution import AssignmentExecutionResult, CannotRun, Sinks
from workers.assignment.guard import LeaseGuard
from workers.device.interface import AnyDevice
from workers.run.result import RunResult
from workers.run.runner import WorkflowRunner


class FlowExecution:
    """A flow that was read and can be run."""

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
            on_checkpoint=sinks.on_checkpoint,
            on_artifact=sinks.on_artifact,
        )
        return _execution_result(await runner.run())


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
