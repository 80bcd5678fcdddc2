"""What a subagent is asked for, and what comes of it."""

from dataclasses import dataclass
from typing import Literal

from workers.agent.budget import Limits
from workers.agent.cancellation import CancelSignal
from workers.agent.tools.tool import ToolCode, ToolOutcome

#: `spawn` begins with nothing but its goal, `fork` with its parent's history, `remote` is another process.
SubagentMode = Literal["spawn", "fork", "remote"]


@dataclass(frozen=True, slots=True)
class SubagentRequest:
    """A part of a goal for another agent.

    `signal` is that of the parent's turn, and good until the request has its result; `limits` are what is left of
    the parent's budget.
    """

    goal: str
    mode: SubagentMode
    name: str
    signal: CancelSignal
    limits: Limits


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """What came of it, in words for the parent's model. `code` is set unless `done`."""

    status: Literal["done", "failed", "aborted"]
    text: str
    code: str | None = None

    @classmethod
    def failed(cls, text: str, *, code: str = ToolCode.SUBAGENT_FAILED) -> "SubagentResult":
        return cls("failed", text, code)

    @classmethod
    def aborted(cls, text: str) -> "SubagentResult":
        return cls("aborted", text, ToolCode.ABORTED)

    def as_outcome(self) -> ToolOutcome:
        return ToolOutcome(self.status, self.text, self.code)
