"""`TaskRunner`: a goal given to an agent, the stop of the run made into the agent's own, and what came of it.

should stop, because of a cancel  ──► agent.cancel(user)  ──► the turn ends aborted    ──► cancelled
should stop, for any other reason ──► agent.dispose()     ──► the turn ends disposed   ──► failed, infrastructure
the agent claims success          ──► verify, if asked    ──► it holds / it does not   ──► done / failed
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from corral.contract.goals import GoalClaim, GoalResult, GoalUsage, GoalVerification
from workers.agent.agent import Agent
from workers.agent.cancellation import USER, CancelSignal
from workers.agent.hooks import Hooks, Next, TurnStop
from workers.agent.instructions import FINISH_REMINDER, device_prompt
from workers.agent.model.interface import AgentModel
from workers.agent.outcome import TurnOutcome
from workers.agent.place import Place
from workers.agent.session.session import Session
from workers.agent.subagents.spawn import SpawnAgent
from workers.agent.task_secrets import Secrets
from workers.agent.tools.sight import Sight
from workers.agent.tools.tool import AnyTool
from workers.agent.tools.toolbox import tools_of
from workers.device.interface import AnyDevice
from workers.run.artifacts import Artifacts, OnArtifact
from workers.run.flow_tool import RunFlowTool
from workers.run.goal import Goal, GoalRun
from workers.run.goal_ending import Ending, ending_of, interrupted
from workers.run.goal_progress import GoalProgress
from workers.run.lookup_times import LookupTimes
from workers.run.result import MAX_REASON_CHARACTERS, Checkpoint
from workers.run.screen import Screen
from workers.run.session_log import LOG_NAME, MAX_IMAGES, MAX_IMAGES_OF_STOPPED, hand_out_logs, usage_of
from workers.run.stop import Interrupted, Stop
from workers.run.verification import verified

#: An agent that does not take the reminder is not going to.
_FINISH_REMINDERS = 2
#: All of them `aborted`, as in the log, which keeps no difference between who ended a turn.
_ABORTED = frozenset({"aborted", "disposed", "dropped"})


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
        more_tools: Sequence[AnyTool] = (),
        times: LookupTimes | None = None,
    ) -> None:
        """As for `WorkflowRunner`. `session_folder` is an empty folder of this run's own, for the agent's log.

        `more_tools` are given to the agent beside those of the device.
        """
        self._goal = goal
        self._device = device
        self._more_tools = more_tools
        self._model = model
        self._secrets = secrets or Secrets()
        self._stop = Stop(should_stop, stop_reason=stop_reason, stopped=stopped)
        self._times = times or LookupTimes()
        self._artifacts = Artifacts(on_artifact)
        self._session_folder = session_folder
        self._progress = GoalProgress(on_checkpoint)
        self._notes: list[str] = []
        self._verification: GoalVerification | None = None
        self._reminders_left = _FINISH_REMINDERS

    async def run(self) -> GoalRun:
        """Runs to the end and says how it ended: when this returns, nothing of the agent runs any more."""
        if self._stop.is_asked:
            return self._told(interrupted(self._stop, "before its first step"), TurnOutcome("dropped"), GoalUsage())
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
        usage = await usage_of(self._session_folder)
        max_images = MAX_IMAGES_OF_STOPPED if self._stop.is_asked else MAX_IMAGES
        await hand_out_logs(self._session_folder, self._artifacts.add, max_images=max_images)
        return self._told(ending, outcome, usage)

    def _make_agent(self) -> Agent:
        hooks = Hooks()
        hooks.turn_stop.add(self._remind_to_finish)
        prompt = device_prompt(secrets=self._secrets.names, flows=list(self._goal.flows))
        agent = Agent(
            self._model,
            tools=[*self._device_tools(), SpawnAgent(system_prompt=prompt), *self._more_tools],
            system_prompt=prompt,
            session=Session(self._session_folder / LOG_NAME, redact=self._secrets.redacted if self._secrets else None),
            hooks=hooks,
            limits=self._goal.limits,
        )
        agent.on_event(self._progress.note)
        return agent

    def _device_tools(self) -> list[AnyTool]:
        sight = Sight(self._device, self._secrets)
        tools = tools_of(sight, takes_images=self._model.takes_images, notes=self._notes)
        if self._goal.flows:
            tools.append(RunFlowTool(self._goal.flows, sight, on_artifact=self._artifacts.add, times=self._times))
        return tools

    async def _stop_agent_when_asked(self, agent: Agent) -> None:
        with suppress(Interrupted):
            await self._stop.wait(math.inf)
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
        ending = ending_of(outcome, self._stop, step=self._progress.step)
        if ending.status == "done" and self._goal.verify is not None:
            screen = Screen(self._device, stop=self._stop, times=self._times)
            ending, self._verification = await verified(self._goal.verify, screen, redact=self._secrets.redacted)
        return ending

    def _told(self, ending: Ending, outcome: TurnOutcome, usage: GoalUsage) -> GoalRun:
        finish = outcome.finish
        result = GoalResult(
            claim=finish and GoalClaim(status=finish.status, message=finish.message, output=finish.output),
            verification=self._verification,
            steps=self._progress.step,
            usage=usage,
            model=self._model.name,
            turn_end="aborted" if outcome.kind in _ABORTED else outcome.kind,
            notes=self._notes,
            artifacts=self._artifacts.names,
        )
        return GoalRun(ending.status, ending.cause, ending.reason and ending.reason[:MAX_REASON_CHARACTERS], result)
