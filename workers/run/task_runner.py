"""`TaskRunner`: a goal given to an agent, the stop of the run made into the agent's own, and what came of it.

should stop, because of a cancel  ──► agent.cancel(user)  ──► the turn ends aborted    ──► cancelled
should stop, for any other reason ──► agent.dispose()     ──► the turn ends disposed   ──► failed, infrastructure
the agent claims success          ──► verify, if asked    ──► it holds / it does not   ──► done / failed
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corral.contract.goals import GoalClaim, GoalResult, GoalUsage, GoalVerification
from corral.flow.condition import Condition
from workers.agent.agent import Agent
from workers.agent.cancellation import USER, CancelSignal
from workers.agent.hooks import Hooks, Next, TurnStop
from workers.agent.instructions import FINISH_REMINDER, device_prompt
from workers.agent.model.interface import AgentModel, ModelErrorCode
from workers.agent.outcome import TurnOutcome
from workers.agent.place import Place
from workers.agent.session.session import Session
from workers.agent.task_secrets import Secrets
from workers.agent.tools.sight import Sight
from workers.agent.tools.toolbox import tools_of
from workers.clock import pause
from workers.device.interface import AnyDevice
from workers.device.outcome import ErrorCode
from workers.run.artifacts import Artifacts, OnArtifact
from workers.run.failure import StepFailed
from workers.run.flow_tool import RunFlowTool
from workers.run.goal import Goal, GoalRun
from workers.run.goal_progress import GoalProgress
from workers.run.lookup_times import LookupTimes
from workers.run.result import MAX_REASON_CHARS, Checkpoint, FailureCause, RunStatus
from workers.run.screen import Screen
from workers.run.session_log import LOG_NAME, hand_out_logs
from workers.run.stop import Interrupted, Stop
from workers.run.waits import check_condition

#: A stop that sets no event is noticed after this long.
_LOOK_SECONDS = 0.1
#: An agent that does not take the reminder is not going to.
_FINISH_REMINDERS = 2
#: The model or the way to it failed, or the device did: no fault of the goal, and another attempt may succeed.
_INFRASTRUCTURE: frozenset[str] = frozenset({
    ModelErrorCode.RATE_LIMITED,
    ModelErrorCode.TIMEOUT,
    ModelErrorCode.UNAVAILABLE,
    ModelErrorCode.AUTH,
    *(code for code in ErrorCode if code.ends_a_run),
})  # fmt: skip
#: As the log has it, which keeps no difference between who ended a turn.
_TURN_ENDS = {
    "completed": "completed",
    "failed": "failed",
    "budget_exceeded": "budget_exceeded",
    "stuck": "stuck",
    "aborted": "aborted",
    "disposed": "aborted",
    "dropped": "aborted",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run comes to, and why."""

    status: RunStatus
    cause: FailureCause | None = None
    reason: str | None = None


class TaskRunner:
    """Pursues one goal once."""

    def __init__(
        self,
        goal: Goal,
        device: AnyDevice,
        *,
        model: AgentModel,
        session_folder: Path,
        should_stop: Callable[[], bool],
        on_checkpoint: Callable[[Checkpoint], None],
        on_artifact: OnArtifact,
        stop_reason: Callable[[], str] | None = None,
        stopped: asyncio.Event | None = None,
        secrets: Secrets | None = None,
        times: LookupTimes | None = None,
    ) -> None:
        """As for `WorkflowRunner`. `session_folder` is an empty folder of this run's own, for the agent's log."""
        self._goal = goal
        self._device = device
        self._model = model
        self._secrets = secrets or Secrets()
        self._stopped = stopped or asyncio.Event()
        self._stop = Stop(should_stop, stop_reason=stop_reason, stopped=self._stopped)
        self._times = times or LookupTimes()
        self._artifacts = Artifacts(on_artifact)
        self._on_artifact = on_artifact
        self._session_folder = session_folder
        self._progress = GoalProgress(on_checkpoint)
        self._notes: list[str] = []
        self._verification: GoalVerification | None = None
        self._reminders_left = _FINISH_REMINDERS

    async def run(self) -> GoalRun:
        """Runs to the end and says how it ended: when this returns, nothing of the agent runs any more."""
        if self._stop.is_asked:
            return self._told(self._interrupted("before its first step"), TurnOutcome("dropped"))
        agent = self._make_agent()
        watch = asyncio.create_task(self._stop_agent_when_asked(agent))
        try:
            outcome = await agent.prompt(self._goal.text).outcome()
        finally:
            watch.cancel()
            await agent.dispose()
            await asyncio.wait({watch})
        ending = await self._ending(outcome)
        self._progress.close(ending.status, ending.reason or (outcome.finish.message if outcome.finish else ""))
        logs = await hand_out_logs(self._session_folder, self._on_artifact)
        return self._told(ending, outcome, logs=logs)

    def _make_agent(self) -> Agent:
        hooks = Hooks()
        hooks.turn_stop.add(self._remind_to_finish)
        sight = Sight(self._device, self._secrets)
        tools = tools_of(sight, takes_images=self._model.takes_images, notes=self._notes)
        if self._goal.flows:
            tools.append(RunFlowTool(self._goal.flows, sight, on_artifact=self._artifacts.add, times=self._times))
        agent = Agent(
            self._model,
            tools=tools,
            system_prompt=device_prompt(secrets=self._secrets.names, flows=list(self._goal.flows)),
            session=Session(self._session_folder / LOG_NAME, redact=self._secrets.redacted),
            hooks=hooks,
            limits=self._goal.limits,
        )
        agent.on_event(self._progress.note)
        return agent

    async def _stop_agent_when_asked(self, agent: Agent) -> None:
        while not self._stop.is_asked:
            await pause(_LOOK_SECONDS, until=self._stopped)
        if self._stop.is_cancellation:
            agent.cancel(USER)
        else:
            await agent.dispose()

    async def _remind_to_finish(
        self, _agent: Agent, _place: Place, stop: TurnStop, _signal: CancelSignal, after: Next[TurnStop, TurnStop]
    ) -> TurnStop:
        if stop.last.finish is not None or self._reminders_left == 0:
            return await after(stop)
        self._reminders_left -= 1
        return await after(replace(stop, go_on_with=FINISH_REMINDER))

    async def _ending(self, outcome: TurnOutcome) -> Ending:
        match outcome.kind:
            case "completed":
                return await self._judged(outcome)
            case "aborted" | "disposed" | "dropped":
                return self._interrupted(f"in step {self._progress.step}")
            case "failed" if outcome.code in _INFRASTRUCTURE:
                return Ending("failed", "infrastructure", f"{outcome.message} ({outcome.code})")
            case "failed":
                return Ending("failed", "task", f"{outcome.message} ({outcome.code})")
            case "budget_exceeded":
                return Ending("failed", "task", f"the agent's budget ran out ({outcome.budget}): {outcome.message}")
            case "stuck":
                return Ending("failed", "task", f"the agent was stuck: {outcome.message}")

    async def _judged(self, outcome: TurnOutcome) -> Ending:
        """What the claim is worth."""
        finish = outcome.finish
        if finish is None:
            return Ending("failed", "task", "the agent ended without saying whether the goal is reached")
        if finish.status != "success":
            return Ending("failed", "task", f"the agent gave up ({finish.status}): {finish.message}")
        if self._goal.verify is None:
            return Ending("done")
        return await self._verified(self._goal.verify)

    async def _verified(self, condition: Condition) -> Ending:
        screen = Screen(self._device, stop=self._stop, times=self._times)
        try:
            holds = await check_condition(condition, screen)
        except Interrupted:
            return self._interrupted("while its result was verified")
        except StepFailed as failed:
            if self._stop.is_asked:
                return self._interrupted(f"while its result was verified, which failed: {failed}")
            self._verification = GoalVerification(condition=condition.describe(), holds=None, reason=str(failed))
            cause = "infrastructure" if failed.is_infrastructure else "task"
            return Ending("failed", cause, f"the agent claims success, and nobody can tell: {failed}")
        self._verification = GoalVerification(condition=condition.describe(), holds=holds)
        if holds:
            return Ending("done")
        return Ending("failed", "task", f"the agent claims success, but this does not hold: {condition.describe()}")

    def _interrupted(self, where: str) -> Ending:
        """Cancelled or failed: the reason of the stop decides."""
        reason = f"{self._stop.reason}: stopped {where}"
        if self._stop.is_cancellation:
            return Ending("cancelled", None, reason)
        return Ending("failed", "infrastructure", reason)

    def _told(self, ending: Ending, outcome: TurnOutcome, *, logs: Sequence[str] = ()) -> GoalRun:
        finish, progress = outcome.finish, self._progress
        result = GoalResult(
            claim=finish and GoalClaim(status=finish.status, message=finish.message, output=finish.output),
            verification=self._verification,
            steps=progress.step,
            usage=GoalUsage(input_tokens=progress.input_tokens, output_tokens=progress.output_tokens),
            model=self._model.name,
            turn_end=_TURN_ENDS[outcome.kind],
            notes=self._notes,
            artifacts=[*self._artifacts.names, *logs],
        )
        return GoalRun(ending.status, ending.cause, ending.reason and ending.reason[:MAX_REASON_CHARS], result)
