"""The run of an assignment that is a goal, and what a host has for such runs."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corral.contract.cancellation import StoppedBy
from corral.contract.goals import AgentView
from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.flow.condition import parse_condition
from corral.flow.errors import FlowError
from corral.flow.parser import parse_flows
from corral.goal.errors import InvalidScript
from workers.agent.budget import Limits
from workers.agent.model.interface import AgentModel
from workers.agent.model.providers import ModelNotConfigured
from workers.agent.model.script_planner import script_model
from workers.agent.subagents.remote_agent import RemoteAgent
from workers.agent.task_secrets import Secrets
from workers.agent.tools.tool import AnyTool
from workers.assignment.execution import AssignmentExecutionResult, CannotRun, Sinks
from workers.assignment.guard import LeaseGuard
from workers.assignment.host_model import HostModel
from workers.device.interface import AnyDevice
from workers.run.goal import Goal, GoalRun
from workers.run.task_runner import TaskRunner


@dataclass(frozen=True, slots=True)
class GoalEquipment:
    """What a host has for goals: its model and an agent to ask, if any, secrets to type, and room for logs."""

    model: HostModel = field(default_factory=HostModel)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    remote: RemoteAgent | None = None
    session_folder: Path | None = None


@dataclass(frozen=True, slots=True)
class GoalExecution:
    """A goal with all that its run needs besides a device."""

    goal: Goal
    model: AgentModel
    secrets: Secrets
    more_tools: Sequence[AnyTool]
    session_folder: Path | None

    @classmethod
    async def prepared(cls, assignment: Assignment, equipment: GoalEquipment) -> "GoalExecution":
        """Raises `CannotRun`."""
        agent = assignment.agent or AgentView()
        try:
            goal = await asyncio.to_thread(_goal_of, assignment, agent)
            model = await _model_of(agent, equipment)
        except FlowError as error:
            raise CannotRun(FailureCause.TASK, f"this host cannot read the goal: {error}") from error
        except InvalidScript as error:
            raise CannotRun(FailureCause.TASK, f"this host cannot read the goal's script: {error}") from error
        except ModelNotConfigured as error:
            raise CannotRun(FailureCause.INFRASTRUCTURE, f"this host has no model for the goal: {error}") from error
        if missing := sorted(set(agent.secrets) - equipment.secrets.keys()):
            names = ", ".join(missing)
            raise CannotRun(FailureCause.INFRASTRUCTURE, f"this host has no secret of this name: {names}")
        secrets = Secrets(equipment.secrets, allowed=agent.secrets)
        tools = await asyncio.to_thread(_tools_of, equipment)
        return cls(goal, model, secrets, tools, equipment.session_folder)

    async def run(self, device: AnyDevice, guard: LeaseGuard, sinks: Sinks) -> AssignmentExecutionResult:
        with tempfile.TemporaryDirectory(prefix="agent-", dir=self.session_folder) as folder:
            runner = TaskRunner(
                self.goal,
                device,
                model=self.model,
                more_tools=self.more_tools,
                session_folder=Path(folder),
                secrets=self.secrets,
                should_stop=guard.should_stop,
                stop_reason=guard.stop_reason,
                stopped=guard.stopped,
                on_checkpoint=sinks.on_checkpoint,
                on_artifact=sinks.on_artifact,
            )
            return _execution_result(await runner.run())


async def _model_of(agent: AgentView, equipment: GoalEquipment) -> AgentModel:
    if agent.script is None:
        return await equipment.model.opened(agent.model)
    # In a thread: a script of thousands of steps takes seconds to read, and other leases are renewed meanwhile.
    return await asyncio.to_thread(script_model, agent.script)


def _tools_of(equipment: GoalEquipment) -> list[AnyTool]:
    """In a thread: the library of the protocol takes seconds to import."""
    if equipment.remote is None:
        return []
    from workers.agent.subagents.remote import AskAgent

    return [AskAgent(equipment.remote)]


def _goal_of(assignment: Assignment, agent: AgentView) -> Goal:
    return Goal(
        text=assignment.goal or "",
        # No wall time here: the task's time-out is the guard's, and the same for flows.
        limits=Limits(steps=agent.max_steps, tokens=agent.max_tokens),
        verify=parse_condition(assignment.verify, env=assignment.env) if assignment.verify else None,
        flows=parse_flows(assignment.files, env=assignment.env),
    )


def _execution_result(run: GoalRun) -> AssignmentExecutionResult:
    return AssignmentExecutionResult(
        status=run.status,
        cause=FailureCause(run.cause) if run.cause else None,
        failure_reason=run.failure_reason,
        result=run.result.model_dump(mode="json"),
        stopped_by=StoppedBy.AGENT,
    )
