"""The agent's tool `run_flow`: written steps, run under the turn's own signal."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from corral.flow.flow import Flow
from workers.agent.cancellation import CancelSignal
from workers.agent.hooks import FlowRequest
from workers.agent.tools.failures import OBSERVE_FIRST
from workers.agent.tools.sight import Sight
from workers.agent.tools.tool import Arguments, Tool, ToolCode, ToolOutcome, ToolRequest
from workers.device.outcome import ENDING_CODES
from workers.run.artifacts import OnArtifact
from workers.run.lookup_times import LookupTimes
from workers.run.result import RunResult
from workers.run.runner import WorkflowRunner
from workers.run.stop import CANCELLATION_REASON


class RunFlowArguments(Arguments):
    path: str = Field(description="The path of the flow, as it is listed in the instructions.")


class RunFlowTool(Tool[RunFlowArguments]):
    """Runs one of the flows that came with the task, on the agent's device."""

    name: ClassVar[str] = "run_flow"
    description: ClassVar[str] = (
        "Run one of the written flows that came with the task. It ends at its last step or at the first that fails; "
        "observe afterwards."
    )
    arguments: ClassVar[type[Arguments]] = RunFlowArguments

    def __init__(
        self,
        flows: Mapping[str, Flow],
        sight: Sight,
        *,
        on_artifact: OnArtifact,
        times: LookupTimes | None = None,
    ) -> None:
        self._flows = flows
        self._sight = sight
        self._on_artifact = on_artifact
        self._times = times

    async def run(self, arguments: RunFlowArguments, request: ToolRequest) -> ToolOutcome:
        flow = self._flows.get(arguments.path)
        if flow is None:
            known = ", ".join(sorted(self._flows))
            return ToolOutcome(
                "failed", f"There is no flow {arguments.path!r}. There are: {known}.", ToolCode.UNKNOWN_FLOW
            )

        async def run(asked: FlowRequest) -> ToolOutcome:
            return _outcome(arguments.path, await self._run(flow, asked.signal))

        hook = request.agent.hooks.flow
        asked = FlowRequest(arguments.path, request.signal)
        return await hook.run(request.agent, request.place, asked, request.signal, run)

    async def _run(self, flow: Flow, signal: CancelSignal) -> RunResult:
        self._sight.acted()
        stopped = asyncio.Event()
        forget = signal.on_abort(stopped.set)
        try:
            return await WorkflowRunner(
                flow,
                self._sight.device,
                should_stop=lambda: signal.is_aborted,
                stop_reason=lambda: CANCELLATION_REASON,
                stopped=stopped,
                on_checkpoint=lambda _checkpoint: None,
                on_artifact=self._on_artifact,
                times=self._times,
            ).run()
        finally:
            forget()


def _outcome(path: str, run: RunResult) -> ToolOutcome:
    steps = f"{run.steps_finished} of {run.steps_total} steps"
    match run.status:
        case "done":
            return ToolOutcome("done", f"Flow {path} is done: {steps}. {OBSERVE_FIRST}")
        case "failed":
            # A phone that is lost to the flow is lost to the agent.
            code = run.code if run.code in ENDING_CODES else ToolCode.FLOW_FAILED
            return ToolOutcome("failed", f"Flow {path} failed after {steps}: {run.failure_reason}", code)
        case "cancelled":
            return ToolOutcome("aborted", f"Flow {path} was stopped after {steps}.", ToolCode.ABORTED)
