"""Do the work of an assignment: open its device, read its flow, run it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import structlog

from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import Progress, TaskKind
from corral.flow.errors import FlowError
from corral.flow.flow import Flow
from corral.flow.parser import parse_flow
from workers.assignment.execution import ArtifactSink, AssignmentExecutionResult, ProgressSink
from workers.assignment.guard import LeaseGuard, StopReason
from workers.device.interface import AnyDevice
from workers.run.result import Checkpoint, RunResult
from workers.run.runner import WorkflowRunner

log = structlog.get_logger()


class DeviceGone(Exception):
    """The device is not there any more; another attempt may find one."""


class OpenedDevice(AnyDevice, Protocol):
    """A device for one run, which must be closed."""

    async def close(self) -> None: ...


#: From the serial that names a device on the wire, and the question whether it may be touched. Raises `DeviceGone`.
OpenDevice = Callable[[str, Callable[[], bool]], OpenedDevice]


class AssignmentExecutor:
    """Runs flows; other kinds of tasks are refused by name."""

    def __init__(self, open_device: OpenDevice) -> None:
        self._open_device = open_device

    async def execute(
        self, assignment: Assignment, *, guard: LeaseGuard, on_progress: ProgressSink, on_artifact: ArtifactSink
    ) -> AssignmentExecutionResult:
        """Returns when the run has settled and its device is closed."""
        if assignment.kind is not TaskKind.FLOW:
            return _failed(FailureCause.TASK, f"this host runs no tasks of kind {assignment.kind}")
        try:
            # In a thread: a long flow takes a while to read, and other leases are renewed meanwhile.
            flow = await asyncio.to_thread(_flow_of, assignment)
            device = self._open_device(assignment.device_serial, guard.may_touch)
        except FlowError as error:
            return _failed(FailureCause.TASK, f"this host cannot read the flow: {error}")
        except DeviceGone as gone:
            return _failed(FailureCause.INFRASTRUCTURE, str(gone))
        try:
            runner = WorkflowRunner(
                flow,
                device,
                should_stop=guard.should_stop,
                stop_reason=guard.stop_reason,
                stopped=guard.stopped,
                on_checkpoint=lambda checkpoint: on_progress(_progress(checkpoint)),
                on_artifact=on_artifact,
            )
            return _execution_result(await runner.run(), reason=guard.reason)
        finally:
            await _close(device, assignment)


def _flow_of(assignment: Assignment) -> Flow:
    return parse_flow(assignment.flow or "", files=assignment.files, env=assignment.env)


async def _close(device: OpenedDevice, assignment: Assignment) -> None:
    try:
        await device.close()
    except Exception:
        # The run has its result; a device that cannot be tidied up shows its state in discovery.
        log.exception("device.not_closed", device=assignment.device_serial, lease_id=str(assignment.lease_id))


def _execution_result(run: RunResult, *, reason: StopReason | None) -> AssignmentExecutionResult:
    result = AssignmentExecutionResult(
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
    was_too_slow = reason is StopReason.TASK_TIMEOUT and (run.failure_reason or "").startswith(reason)
    return replace(result, cause=FailureCause.TASK) if was_too_slow and run.status == "failed" else result


def _progress(checkpoint: Checkpoint) -> Progress:
    return Progress(
        step=checkpoint.step,
        steps_total=checkpoint.steps_total,
        text=checkpoint.text[:500],
        checkpoint=checkpoint.status,
    )


def _failed(cause: FailureCause, reason: str) -> AssignmentExecutionResult:
    return AssignmentExecutionResult(status="failed", cause=cause, failure_reason=reason)
