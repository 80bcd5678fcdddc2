"""The lines of a session's log. What is not described here is refused when a log is read.

Turns and steps are counted from 1, steps within their turn; `step` is 0 where a message belongs to no step.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from workers.agent.budget import BudgetKind
from workers.agent.messages import Frozen, Message

#: Raised when an older reader would misread what is written.
LOG_VERSION = 1


class SessionStart(Frozen):
    """The first line. `forked_from` names the session whose history the `seed` lines that follow repeat."""

    event: Literal["session/start"] = "session/start"
    version: Literal[1] = LOG_VERSION
    session_id: str
    parent_session_id: str | None = None
    forked_from: str | None = None


class Seed(Frozen):
    """A message that another session had before this one began."""

    event: Literal["seed"] = "seed"
    message: Message


class TurnStart(Frozen):
    event: Literal["turn/start"] = "turn/start"
    turn: int


class SystemAssembled(Frozen):
    """The system prompt of this turn's requests."""

    event: Literal["system"] = "system"
    turn: int
    text: str


class PrefixSet(Frozen):
    """Messages that go before all others in this turn's requests, and only there."""

    event: Literal["prefix"] = "prefix"
    turn: int
    messages: tuple[Message, ...]


class StepStart(Frozen):
    event: Literal["step/start"] = "step/start"
    turn: int
    step: int


class MessageAdded(Frozen):
    """A message of the history, from here on a part of every request."""

    event: Literal["message"] = "message"
    turn: int
    step: int
    message: Message


class ToolStart(Frozen):
    """The tool runs from here on. Without this line a call never ran, whatever became of it."""

    event: Literal["tool/start"] = "tool/start"
    turn: int
    step: int
    call_id: str


class StepEnd(Frozen):
    """The tokens are those of the step's request, all its attempts together, as far as the provider tells."""

    event: Literal["step/end"] = "step/end"
    turn: int
    step: int
    input_tokens: int
    output_tokens: int


class Completed(Frozen):
    """`finish` is what the agent claimed, where it did."""

    kind: Literal["completed"] = "completed"
    finish: dict[str, Any] | None = None


class Aborted(Frozen):
    """Cancelled, or the agent was disposed of. Nothing more belongs here."""

    kind: Literal["aborted"] = "aborted"


class Failed(Frozen):
    """`code` is a model's, a device's, `log_unwritable` or `defect`; no stack and no object of the program."""

    kind: Literal["failed"] = "failed"
    code: str
    message: str


class BudgetExceeded(Frozen):
    """`budget` names what was used up."""

    kind: Literal["budget_exceeded"] = "budget_exceeded"
    budget: BudgetKind
    message: str


class EndedStuck(Frozen):
    """The same action was done on the same screen again and again."""

    kind: Literal["stuck"] = "stuck"
    message: str


DurableEnd = Annotated[Completed | Aborted | Failed | BudgetExceeded | EndedStuck, Field(discriminator="kind")]


class TurnEnd(Frozen):
    event: Literal["turn/end"] = "turn/end"
    turn: int
    end: DurableEnd


SessionEvent = Annotated[
    SessionStart
    | Seed
    | TurnStart
    | SystemAssembled
    | PrefixSet
    | StepStart
    | MessageAdded
    | ToolStart
    | StepEnd
    | TurnEnd,
    Field(discriminator="event"),
]

EVENT: TypeAdapter[SessionEvent] = TypeAdapter(SessionEvent)
