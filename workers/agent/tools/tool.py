"""What the loop needs of a tool."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from workers.agent.budget import Budget, Limits
from workers.agent.cancellation import CancelSignal
from workers.agent.messages import ToolStatus
from workers.agent.place import Place

if TYPE_CHECKING:
    from workers.agent.agent import Agent

ArgumentsT = TypeVar("ArgumentsT", bound="Arguments")


class Arguments(BaseModel):
    """Arguments of a tool; its JSON Schema is what the model is told. Unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolCode(StrEnum):
    """Why the loop or a tool gave no result of the device: a closed list, beside the device's own codes."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    STALE_OBSERVATION = "stale_observation"
    NO_SUCH_ELEMENT = "no_such_element"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_SECRET = "unknown_secret"  # noqa: S105  a code, not a secret
    NOT_APPLIED = "text_not_applied"
    POLICY_DENIED = "policy_denied"
    TOOL_DEFECT = "tool_defect"
    ABORTED = "aborted"
    ABORTED_BEFORE_DISPATCH = "aborted_before_dispatch"
    TURN_ENDED = "turn_ended"
    SUBAGENT_FAILED = "subagent_failed"
    FLOW_FAILED = "flow_failed"
    UNKNOWN_FLOW = "unknown_flow"


@dataclass(frozen=True, slots=True)
class Finish:
    """The agent says that its goal is done with. A claim, kept apart from what is verified."""

    status: Literal["success", "failure", "infeasible"]
    message: str
    output: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call, in words that the model can act on.

    `code` is set unless `done`. `images` are by sha256. `repeat_key` names an action on a screen, so that the loop
    notices when the same one is done again and again; None for what changes nothing. `finish` ends the turn.
    """

    status: ToolStatus
    text: str
    code: str | None = None
    images: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    repeat_key: str | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """What a tool gets besides its arguments: who asks and where, under which signal, and what is left to spend.

    The signal and the budget are the turn's; they may be used until the call returns.
    """

    agent: "Agent"
    place: Place
    call_id: str
    signal: CancelSignal
    budget: Budget = field(default_factory=lambda: Budget(Limits()))

    @property
    def deadline_at(self) -> float | None:
        """The end of the wall time budget in boot seconds, where there is one."""
        return self.budget.deadline_at


class Tool(ABC, Generic[ArgumentsT]):
    """One thing the model can ask for.

    A tool checks the signal before it acts and in its waits; an action that was sent is not cut off. It raises
    `TurnInterrupted` (by `signal.check()`) only where nothing of it has happened, and otherwise returns what did.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[Arguments]]
    #: It changes nothing on the device or elsewhere, so that it never needs an approval.
    is_read_only: ClassVar[bool] = False

    @abstractmethod
    async def run(self, arguments: ArgumentsT, request: ToolRequest) -> ToolOutcome: ...


AnyTool = Tool[Any]
