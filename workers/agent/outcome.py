"""How a turn ended, as the running program learns it. The log keeps less: see `session.events.DurableEnd`."""

from dataclasses import dataclass
from typing import Literal

from workers.agent.budget import BudgetKind
from workers.agent.cancellation import AgentInterruptReason
from workers.agent.tools.tool import Finish


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """`dropped`: the prompt was cancelled before its turn began. `text` is the last answer.

    `code` and `message` say why it `failed`, or what else ended it; `budget` is what ran out.
    """

    kind: Literal["completed", "aborted", "disposed", "failed", "budget_exceeded", "stuck", "dropped"]
    text: str = ""
    finish: Finish | None = None
    code: str | None = None
    message: str | None = None
    budget: BudgetKind | None = None
    #: Who interrupted it; gone with the program, never in the log.
    reason: AgentInterruptReason | None = None
