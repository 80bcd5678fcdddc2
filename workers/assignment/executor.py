"""Do the work of an assignment: make its run ready, open its device, run it."""

from collections.abc import Callable
from typing import Protocol, assert_never

import structlog

from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import TaskKind
from corral.traces.spans import span
from workers.assignment.execution import ArtifactSink, AssignmentExecutionResult, CannotRun, ProgressSink, Sinks
from workers.assignment.flow_execution import FlowExecution
from workers.assignment.goal_execution import GoalEquipment, GoalExecution
from workers.assignment.guard import LeaseGuard
from workers.device.interface import AnyDevice

log = structlog.get_logger()


class DeviceGone(Exception):
    """The device is not there any more; another attempt may find one."""


class OpenedDevice(AnyDevice, Protocol):
    """A device for one run, which must be closed."""

    async def close(self) -> None: ...


#: From the serial that names a device on the wire, and the question whether it may be touched. Raises `DeviceGone`.
OpenDevice = Callable[[str, Callable[[], bool]], OpenedDevice]


class AssignmentExecutor:
    """Runs flows and goals."""

    def __init__(self, open_device: OpenDevice, *, equipment: GoalEquipment | None = None) -> None:
        self._open_device = open_device
        self._equipment = equipment or GoalEquipment()

    async def execute(
        self, assignment: Assignment, *, guard: LeaseGuard, on_progress: ProgressSink, on_artifact: ArtifactSink
    ) -> AssignmentExecutionResult:
        """Returns when the run has settled and its device is closed."""
        try:
            with span("prepare", kind=assignment.kind):
                execution = await self._prepared(assignment)
                device = self._open_device(assignment.device_serial, guard.may_touch)
        except CannotRun as error:
            return _failed(error.cause, str(error))
        except DeviceGone as gone:
            return _failed(FailureCause.INFRASTRUCTURE, str(gone))
        try:
            return await execution.run(device, guard, Sinks(on_progress, on_artifact))
        finally:
            await _close(device, assignment)

    async def _prepared(self, assignment: Assignment) -> FlowExecution | GoalExecution:
        match assignment.kind:
            case TaskKind.FLOW:
                return await FlowExecution.prepared(assignment)
            case TaskKind.GOAL:
                return await GoalExecution.prepared(assignment, self._equipment)
            case _:
                assert_never(assignment.kind)


async def _close(device: OpenedDevice, assignment: Assignment) -> None:
    try:
        with span("close device"):
            await device.close()
    except Exception:
        # The run has its result; a device that cannot be tidied up shows its state in discovery.
        log.exception("device.not_closed", device=assignment.device_serial, lease_id=str(assignment.lease_id))


def _failed(cause: FailureCause, reason: str) -> AssignmentExecutionResult:
    return AssignmentExecutionResult(status="failed", cause=cause, failure_reason=reason)
