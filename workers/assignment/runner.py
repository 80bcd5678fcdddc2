"""Race the execution of one assignment against the renewals of its lease."""

import asyncio
from dataclasses import replace

import structlog

from corral.contract.history import FailureCause
from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.tasks import Progress
from corral.failpoints import failpoint
from corral.traces.spans import span
from workers.assignment.artifacts import ArtifactUploads
from workers.assignment.execution import AssignmentExecutionResult, ClaimedAssignment, Execution
from workers.assignment.fitting import PROGRESS_CHARACTERS, fit_text
from workers.assignment.guard import LeaseGuard, StopReason
from workers.assignment.host_renewal import HostRenewal
from workers.assignment.next_claim import NextClaim
from workers.assignment.renewal import LeaseRenewal
from workers.assignment.report import report_before_start, result_of_crash, terminal_report
from workers.assignment.reporter import Reporter
from workers.assignment.spool import SpooledReport
from workers.clock import Clock, pause
from workers.control_client.client import ControlClient
from workers.metrics import ATTEMPTS, STOP_SECONDS

#: How often a task's time-out is looked at: the boot clock has no timers of its own.
TIMEOUT_LOOK_SECONDS = 0.2

log = structlog.get_logger()


class ActiveAssignmentRunner:
    """One assignment from its claim to its acknowledged report. Stop it through its `guard`."""

    def __init__(
        self,
        claimed: ClaimedAssignment,
        *,
        client: ControlClient,
        execution: Execution,
        reporter: Reporter,
        renewals: HostRenewal,
        clock: Clock,
        next_claim: NextClaim | None = None,
    ) -> None:
        assignment = claimed.assignment
        self._next_claim = next_claim
        self._assignment = assignment
        self._execution = execution
        self._reporter = reporter
        self._clock = clock
        self.guard = LeaseGuard(assignment.lease_id, lease_seconds=assignment.lease_seconds, clock=clock)
        self.guard.extend(sent_at=claimed.sent_at, held_ms=claimed.held_ms, remaining_ms=assignment.lease_remaining_ms)
        self._span = span(
            "attempt",
            assignment.task_id,
            attempt=assignment.attempt,
            serial=assignment.device_serial,
            lease_id=assignment.lease_id,
        )
        self._renewal = LeaseRenewal(
            assignment, self.guard, client=client, together=renewals, clock=clock, attempt=self._span
        )
        self._uploads = ArtifactUploads(self.guard, client=client)
        self._log = log.bind(
            task_id=str(assignment.task_id), attempt=assignment.attempt, lease_id=str(claimed.lease_id)
        )

    @property
    def following(self) -> list[ClaimedAssignment]:
        """What the answer to the report gave; to be run once this run has ended, for it is on the same device."""
        return self._next_claim.claimed if self._next_claim else []

    async def run(self) -> None:
        """Returns when the run has settled and its report was acknowledged, or left in the spool on a hurried end."""
        with self._span:
            await self._run()

    async def _run(self) -> None:
        if self._assignment.cancel_requested:
            self._renewal.see_cancel()
        async with asyncio.TaskGroup() as beside:
            watched = [
                beside.create_task(self._renewal.run()),
                beside.create_task(self.guard.watch()),
            ]
            # Whoever cancelled between the claim and here is heard before anything is done to the device.
            with span("first renewal"):
                await self._renewal.first_settled.wait()
            report = await self._work()
            await self._deliver(report)
            for task in watched:
                task.cancel()

    async def _work(self) -> TerminalResultRequest:
        if reason := self.guard.reason:
            return report_before_start(reason)
        time_limit = asyncio.create_task(self._stop_at_timeout())
        try:
            result = await self._execute()
        finally:
            time_limit.cancel()
        if (seen_at := self._renewal.cancel_seen_at) is not None:
            STOP_SECONDS.observe(self._clock() - seen_at)
        failpoint("run.finished")
        return terminal_report(
            self._with_missing_artifacts(result), reason=self.guard.reason, progress=self._renewal.progress
        )

    async def _execute(self) -> AssignmentExecutionResult:
        self._log.info("task.started", device=self._assignment.device_serial, name=self._assignment.name)
        try:
            return await self._execution.execute(
                self._assignment, guard=self.guard, on_progress=self._note_progress, on_artifact=self._uploads.upload
            )
        except Exception as error:  # noqa: BLE001 - the boundary of the room: any error ends the run, none the host
            self._log.exception("task.crashed")
            return result_of_crash(error, reason=self.guard.reason)

    async def _deliver(self, report: TerminalResultRequest) -> None:
        if report.status == "cancelled":
            # The receipt says when the cancel was seen only if that arrives before the end of the task.
            await self._renewal.cancel_told.wait()
        self._renewal.is_reporting = True
        self._span.set(outcome=report.status, cause=report.cause)
        if report.status == "failed":
            self._span.fail(report.cause)
        ATTEMPTS.labels(report.status, report.cause or "").inc()
        self._log.info(f"task.{report.status}", cause=report.cause, reason=report.failure_reason)
        spooled = SpooledReport(lease_id=self.guard.lease_id, task_id=self._assignment.task_id, report=report)
        # A device or host that just failed is left to the next heartbeat and claim.
        is_fit = report.cause is not FailureCause.INFRASTRUCTURE
        await self._reporter.report(spooled, next_claim=self._next_claim if is_fit else None)

    async def _stop_at_timeout(self) -> None:
        if self._assignment.timeout_seconds is None:
            return
        ends_at = self._clock() + self._assignment.timeout_seconds
        while self._clock() < ends_at:
            await pause(TIMEOUT_LOOK_SECONDS, until=self.guard.stopped)
            if self.guard.should_stop():
                return
        self.guard.stop(StopReason.TASK_TIMEOUT)

    def _note_progress(self, progress: Progress) -> None:
        text = fit_text(progress.text, max_characters=PROGRESS_CHARACTERS)
        self._renewal.progress = progress.model_copy(update={"text": text})

    def _with_missing_artifacts(self, result: AssignmentExecutionResult) -> AssignmentExecutionResult:
        if not self._uploads.missing:
            return result
        return replace(result, result={**result.result, "artifacts_missing": self._uploads.missing})
