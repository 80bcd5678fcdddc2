"""The work of an assignment and the devices of a host, as tests want them."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from corral.contract.fleet import DeviceState
from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment, ReportedDevice
from corral.contract.tasks import Progress
from workers.assignment.execution import ArtifactSink, AssignmentExecutionResult, ProgressSink
from workers.assignment.guard import LeaseGuard, StopReason


class ScriptedExecution:
    """Touches its device every few milliseconds until it is stopped, told to finish, or its script ends."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.settled: list[str] = []
        self.touched_at: list[float] = []
        self.guards: dict[str, LeaseGuard] = {}
        self.finish = asyncio.Event()
        #: Called after the stop, before the run has settled.
        self.clean_up: Callable[[LeaseGuard], Awaitable[None]] | None = None
        self.script: Callable[..., Awaitable[AssignmentExecutionResult]] | None = None

    async def execute(
        self, assignment: Assignment, *, guard: LeaseGuard, on_progress: ProgressSink, on_artifact: ArtifactSink
    ) -> AssignmentExecutionResult:
        self.begun.append(assignment.device_serial)
        self.guards[assignment.device_serial] = guard
        try:
            if self.script:
                return await self.script(assignment, guard=guard, on_progress=on_progress, on_artifact=on_artifact)
            return await self._touch_until_stopped(guard, on_progress)
        finally:
            self.settled.append(assignment.device_serial)

    async def _touch_until_stopped(self, guard: LeaseGuard, on_progress: ProgressSink) -> AssignmentExecutionResult:
        step = 0
        while not self.finish.is_set():
            if guard.should_stop():
                if self.clean_up:
                    await self.clean_up(guard)
                return stopped(guard)
            step += 1
            on_progress(Progress(step=step, text=f"step {step}"))
            if guard.may_touch():
                self.touched_at.append(time.monotonic())
            await asyncio.sleep(0.005)
        return AssignmentExecutionResult(status="done")


def stopped(guard: LeaseGuard) -> AssignmentExecutionResult:
    """As the runner of flows words it."""
    reason = guard.stop_reason()
    if reason == StopReason.CANCELLED:
        return AssignmentExecutionResult(status="cancelled", failure_reason=f"{reason}: stopped before step 2")
    return AssignmentExecutionResult(
        status="failed", cause=FailureCause.INFRASTRUCTURE, failure_reason=f"{reason}: stopped before step 2"
    )


class ScriptedFleet:
    def __init__(self, *serials: str) -> None:
        self._devices: list[ReportedDevice] = []
        self._changed = asyncio.Event()
        self.plug(*serials)

    def devices(self) -> list[ReportedDevice]:
        return self._devices

    async def wait_for_change(self) -> None:
        await self._changed.wait()

    def plug(self, *serials: str, state: DeviceState = DeviceState.READY) -> None:
        others = [device for device in self._devices if device.serial not in serials]
        self._devices = others + [ReportedDevice(serial=serial, state=state) for serial in serials]
        self._changed.set()
        self._changed = asyncio.Event()
