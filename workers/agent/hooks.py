"""Where others take part in a turn, and what they are handed.

A waterfall's listener gets `(agent, place, value, signal, next)` and returns what `next(value)` gives, or something of
its own. An announcement's listeners get `(agent, value, signal)`, one after the other. The signal is the turn's:
listeners may wait on it and must not keep it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog

from workers.agent.cancellation import CancelSignal, TurnInterrupted, contained
from workers.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage
from workers.agent.model.interface import Answer, ModelRequest, ToolSpec, Usage
from workers.agent.place import Place
from workers.agent.subagents.request import SubagentRequest, SubagentResult
from workers.agent.tools.tool import Finish, ToolOutcome

if TYPE_CHECKING:
    from workers.agent.agent import Agent

log = structlog.get_logger()

ValueT = TypeVar("ValueT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class RequestConfig:
    """What may be chosen for each request. Its words come from prompt, prefix and session, and from nowhere else."""

    tools: tuple[ToolSpec, ...]
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a tool call may run. A refusal's `reason` goes back to the model."""

    is_granted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What came of a step. A listener may leave a `hint`, which the model reads in the next step."""

    message: AssistantMessage
    results: tuple[ToolMessage, ...]
    usage: Usage
    finish: Finish | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Continuation:
    """Whether another step follows `last`."""

    goes_on: bool
    last: StepResult


@dataclass(frozen=True, slots=True)
class TurnStop:
    """The turn is about to end after `last`. With `go_on_with`, it goes on with these words instead."""

    last: StepResult
    go_on_with: str | None = None


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """A written flow that the agent asked for, and the signal under which it runs."""

    path: str
    signal: CancelSignal


Next = Callable[[ValueT], Awaitable[ResultT]]
Listener = Callable[["Agent", Place, ValueT, CancelSignal, Next[ValueT, ResultT]], Awaitable[ResultT]]


class Waterfall(Generic[ValueT, ResultT]):
    """Listeners around something that happens: each may change the value, the result, or whether it happens at all."""

    def __init__(self) -> None:
        self._listeners: list[Listener[ValueT, ResultT]] = []

    def add(self, listener: Listener[ValueT, ResultT]) -> None:
        """The first to be added is the outermost."""
        self._listeners.append(listener)

    async def run(
        self, agent: "Agent", place: Place, value: ValueT, signal: CancelSignal, last: Next[ValueT, ResultT]
    ) -> ResultT:
        """`last` is what happens at the bottom. The signal is asked before each listener, and before `last`."""
        listeners = tuple(self._listeners)

        async def fall(depth: int, value: ValueT) -> ResultT:
            signal.check()
            if depth == len(listeners):
                return await last(value)
            return await listeners[depth](agent, place, value, signal, lambda value: fall(depth + 1, value))

        return await contained(fall(0, value))


class Announcement(Generic[ValueT]):
    """Listeners that are told, and waited for, and change nothing by what they return."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Agent, ValueT, CancelSignal], Awaitable[None]]] = []

    def add(self, listener: "Callable[[Agent, ValueT, CancelSignal], Awaitable[None]]") -> None:
        self._listeners.append(listener)

    async def run(self, agent: "Agent", value: ValueT, signal: CancelSignal) -> None:
        """The signal is asked before each listener."""
        for listener in tuple(self._listeners):
            signal.check()
            await contained(listener(agent, value, signal))

    async def run_to_the_end(self, agent: "Agent", value: ValueT, signal: CancelSignal) -> None:
        """Every listener hears it, interrupted or not, and whatever those before it raised."""
        for listener in tuple(self._listeners):
            try:
                await contained(listener(agent, value, signal))
            except TurnInterrupted:
                # It gave up because of the cancel, as it may.
                continue
            except Exception:
                log.exception("agent.listener_failed", agent=agent.name)


async def unchanged(value: ValueT) -> ValueT:
    """The bottom of a waterfall that only passes its value through."""
    return value


@dataclass(frozen=True, slots=True)
class Hooks:
    """The seams of a turn, in the order in which a turn comes by.

    The assembly of the system prompt is one more, between the first two: its sections are listeners by themselves.
    """

    prompt_submission: Waterfall[str, str] = field(default_factory=Waterfall[str, str])
    session_prefix: Waterfall[tuple[Message, ...], tuple[Message, ...]] = field(
        default_factory=Waterfall[tuple[Message, ...], tuple[Message, ...]]
    )
    pre_step: Announcement[Place] = field(default_factory=Announcement[Place])
    request: Waterfall[RequestConfig, RequestConfig] = field(default_factory=Waterfall[RequestConfig, RequestConfig])
    model: Waterfall[ModelRequest, Answer] = field(default_factory=Waterfall[ModelRequest, Answer])
    approval: Waterfall[ToolCall, Approval] = field(default_factory=Waterfall[ToolCall, Approval])
    tool: Waterfall[ToolCall, ToolOutcome] = field(default_factory=Waterfall[ToolCall, ToolOutcome])
    flow: Waterfall[FlowRequest, ToolOutcome] = field(default_factory=Waterfall[FlowRequest, ToolOutcome])
    subagent: Waterfall[SubagentRequest, SubagentResult] = field(
        default_factory=Waterfall[SubagentRequest, SubagentResult]
    )
    step_result: Waterfall[StepResult, StepResult] = field(default_factory=Waterfall[StepResult, StepResult])
    continuation: Waterfall[Continuation, Continuation] = field(default_factory=Waterfall[Continuation, Continuation])
    turn_stop: Waterfall[TurnStop, TurnStop] = field(default_factory=Waterfall[TurnStop, TurnStop])
    turn_end: Announcement[Place] = field(default_factory=Announcement[Place])
