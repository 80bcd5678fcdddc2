"""`WorkflowRunner`: the loop over the steps, and what its end is called."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from corral.flow.commands.control import HoldingCommand, Repeat, Retry, RunFlow
from corral.flow.commands.union import Command
from corral.flow.flow import Flow
from corral.traces.spans import span
from workers.device.interface import AnyDevice
from workers.run.artifacts import Artifacts, OnArtifact
from workers.run.commands import perform_command
from workers.run.failure import StepFailed
from workers.run.lookup_times import LookupTimes
from workers.run.progress import Progress
from workers.run.result import MAX_REASON_CHARACTERS, Checkpoint, FailureCause, RunResult, RunStatus
from workers.run.screen import Screen
from workers.run.stop import Interrupted, Stop
from workers.run.waits import check_condition
from workers.run.warning_list import WarningList

_FAILURE_SCREENSHOT = "failure"


class WorkflowRunner:
    """Runs one flow once."""

    def __init__(
        self,
        flow: Flow,
        device: AnyDevice,
        *,
        should_stop: Callable[[], bool],
        on_checkpoint: Callable[[Checkpoint], None],
        on_artifact: OnArtifact,
        stop_reason: Callable[[], str] | None = None,
        stopped: asyncio.Event | None = None,
        times: LookupTimes | None = None,
    ) -> None:
        """`should_stop` is asked before each step and in waits; `stopped`, set with it, ends waits at once.

        `stop_reason` says why: `CANCELLATION_REASON` makes the run `cancelled`, everything else `failed` for
        infrastructure. `on_checkpoint` is called at each boundary between steps and must not block. `on_artifact`
        takes a name, a content and its media type.
        """
        self._flow = flow
        self._stop = Stop(should_stop, stop_reason=stop_reason, stopped=stopped)
        self._screen = Screen(device, stop=self._stop, times=times or LookupTimes())
        self._progress = Progress(flow.steps_total, on_checkpoint)
        self._artifacts = Artifacts(on_artifact)
        self._warnings = WarningList(flow.warnings)
        self._position = "step 1"
        self._is_in_step = False

    async def run(self) -> RunResult:
        """Runs to the end and says how it ended. An exception from here is a defect, of the runner or a callback."""
        try:
            await self._run_all(self._flow.commands)
        except Interrupted:
            return self._stopped(None)
        except StepFailed as failed:
            # Our own stop makes calls fail: what fails after it was asked for ends as the stop says.
            if self._stop.is_asked:
                return self._stopped(failed)
            await self._photograph_failure(failed)
            cause: FailureCause = "infrastructure" if failed.is_infrastructure else "task"
            return replace(self._result("failed", cause, f"{self._position}: {failed}"), code=failed.code)
        return self._result("done", None, None)

    async def _run_all(self, commands: Sequence[Command]) -> None:
        for command in commands:
            await self._run_step(command)

    async def _run_step(self, command: Command) -> None:
        number = self._progress.finished + 1
        place = f"step {number} of {self._flow.steps_total} ({command.file}:{command.line}, {command.describe()})"
        self._position, self._is_in_step = place, False
        self._stop.check()
        self._is_in_step = True
        self._progress.begin(number, command)
        try:
            await self._run_traced(command, number)
        except StepFailed as failed:
            if not command.optional or not failed.can_be_excused or self._stop.is_asked:
                raise
            self._warnings.add(f"{self._position}: optional, and failed: {failed}")
        self._progress.end(number, command)

    async def _run_traced(self, command: Command, number: int) -> None:
        # Not what it is about: a selector or a label may hold what nobody but the device is to see.
        with span(f"step {command.command}", step=number, line=command.line, is_optional=command.optional) as traced:
            try:
                await self._run_command(command, number)
            except StepFailed as failed:
                traced.fail(failed.code)
                raise
            except Interrupted:
                traced.excuse("stop")
                raise

    async def _run_command(self, command: Command, number: int) -> None:
        if isinstance(command, HoldingCommand):
            self._progress.finished = number
        match command:
            case RunFlow():
                if command.when is None or await check_condition(command.when, self._screen):
                    await self._run_all(command.commands)
            case Repeat():
                for _ in range(command.times):
                    await self._run_all(command.commands)
            case Retry():
                await self._retry(command, number)
            case _:
                await perform_command(command, self._screen, self._artifacts)

    async def _retry(self, command: Retry, number: int) -> None:
        for retries_left in reversed(range(command.max_retries + 1)):
            self._progress.finished = number
            try:
                await self._run_all(command.commands)
            except StepFailed as failed:
                if not retries_left or not failed.can_be_retried or self._stop.is_asked:
                    raise
                self._warnings.add(f"{self._position}: tried again: {failed}")
            else:
                return

    async def _photograph_failure(self, failed: StepFailed) -> None:
        """The screen at the failure, where the device can still be asked. Never hides the failure itself."""
        if failed.is_infrastructure:
            return
        try:
            content = await self._screen.device.screenshot_png()
            if isinstance(content, bytes):
                await self._artifacts.add_png(_FAILURE_SCREENSHOT, content)
            else:
                self._warnings.add(f"no screenshot of the failure: {content.message} ({content.code})")
        except Exception as error:  # noqa: BLE001  the failure itself is what must be reported
            self._warnings.add(f"no screenshot of the failure: {error!r}")

    def _stopped(self, failed: StepFailed | None) -> RunResult:
        where = f"stopped {'in' if self._is_in_step else 'before'} {self._position}"
        reason = f"{self._stop.reason}: {where}" + (f", which failed: {failed}" if failed else "")
        if self._stop.is_cancellation:
            return self._result("cancelled", None, reason)
        return self._result("failed", "infrastructure", reason)

    def _result(self, status: RunStatus, cause: FailureCause | None, reason: str | None) -> RunResult:
        reason = reason and reason[:MAX_REASON_CHARACTERS]
        self._progress.close(status, reason or self._flow.name)
        return RunResult(
            status=status,
            cause=cause,
            failure_reason=reason,
            steps_total=self._flow.steps_total,
            steps_finished=self._progress.finished,
            warnings=self._warnings.texts,
            artifacts=tuple(self._artifacts.names),
        )
