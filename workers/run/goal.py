"""A goal for an agent on a device, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.contract.goals import GoalResult
from corral.flow.condition import Condition
from corral.flow.flow import Flow
from workers.agent.budget import Limits
from workers.run.result import FailureCause, RunStatus


@dataclass(frozen=True, slots=True)
class Goal:
    """`verify` is checked on the screen after the agent has claimed success; `flows` are for its tool `run_flow`."""

    text: str
    limits: Limits
    verify: Condition | None = None
    flows: Mapping[str, Flow] = field(default_factory=dict[str, Flow])


@dataclass(frozen=True, slots=True)
class GoalRun:
    """How the run of a goal ended; `result` keeps apart what the agent claims and what was verified."""

    status: RunStatus
    cause: FailureCause | None
    failure_reason: str | None
    result: GoalResult
