"""Models whose answers are written down for each agent by its name, and tools that do next to nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from workers.agent.agent import Agent
from workers.agent.cancellation import CancelSignal
from workers.agent.identity import current_agent
from workers.agent.messages import AssistantMessage, TextPart, ToolCall
from workers.agent.model.interface import Answer, ModelRequest, OnDelta, Usage
from workers.agent.subagents.spawn import SpawnAgent
from workers.agent.tools.tool import Arguments, Finish, Tool, ToolOutcome, ToolRequest

TOKENS = Usage(input_tokens=8, output_tokens=2)

Move = AssistantMessage | Callable[[ModelRequest, CancelSignal], Awaitable[AssistantMessage]]


def call(tool: str, **arguments: Any) -> AssistantMessage:
    return calls((tool, arguments))


def calls(*called: tuple[str, dict[str, Any]]) -> AssistantMessage:
    parts = (
        ToolCall(call_id=f"call-{number}", tool=tool, arguments=arguments)
        for number, (tool, arguments) in enumerate(called, start=1)
    )
    return AssistantMessage(parts=tuple(parts))


def say(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(TextPart(text=text),))


def finish(status: str = "success", message: str = "All done.", **output: Any) -> AssistantMessage:
    return call("finish", status=status, message=message, output=output or None)


async def hang(_request: ModelRequest, signal: CancelSignal) -> AssistantMessage:
    """Thinks until it is cancelled."""
    await signal.wait()
    return AssistantMessage(parts=(TextPart(text="I was"),), is_interrupted=True)


class Moves:
    """A model: `moves["agent"]` are the answers of the agent of that name, in their order."""

    name = "moves"
    takes_images = False

    def __init__(self, **moves: list[Move]) -> None:
        self.moves = {name.replace("__", "/"): list(answers) for name, answers in moves.items()}
        self.requests: dict[str, list[ModelRequest]] = {}
        self.signals: dict[str, CancelSignal] = {}
        self.agents: dict[str, Agent] = {}
        self.asked = asyncio.Event()

    async def generate(self, request: ModelRequest, signal: CancelSignal, _on_delta: OnDelta) -> Answer:
        agent = current_agent()
        assert agent is not None
        self.requests.setdefault(agent.name, []).append(request)
        self.signals[agent.name], self.agents[agent.name] = signal, agent
        self.asked.set()
        move = self.moves[agent.name].pop(0)
        message = move if isinstance(move, AssistantMessage) else await move(request, signal)
        return Answer(message, TOKENS)

    async def until_asked_by(self, name: str, *, times: int = 1) -> None:
        while len(self.requests.get(name, ())) < times:
            self.asked.clear()
            await self.asked.wait()


class FinishArguments(Arguments):
    status: str
    message: str
    output: dict[str, Any] | None = None


class FinishTool(Tool[FinishArguments]):
    name: ClassVar[str] = "finish"
    description: ClassVar[str] = "End."
    arguments: ClassVar[type[Arguments]] = FinishArguments
    is_read_only: ClassVar[bool] = True

    async def run(self, arguments: FinishArguments, _request: ToolRequest) -> ToolOutcome:
        return ToolOutcome("done", "Finished.", finish=Finish(arguments.status, arguments.message, arguments.output))


class TapArguments(Arguments):
    text: str = "OK"


class TapTool(Tool[TapArguments]):
    """Keeps who tapped what; `before` is awaited first."""

    name: ClassVar[str] = "tap"
    description: ClassVar[str] = "Tap."
    arguments: ClassVar[type[Arguments]] = TapArguments

    def __init__(self) -> None:
        self.taps: list[tuple[str, str]] = []
        self.before: Callable[[ToolRequest], Awaitable[object]] = lambda _: asyncio.sleep(0)
        self.outcome = ToolOutcome("done", "Tapped.")

    async def run(self, arguments: TapArguments, request: ToolRequest) -> ToolOutcome:
        request.signal.check()
        await self.before(request)
        agent = current_agent()
        self.taps.append((agent.name if agent else "nobody", arguments.text))
        return self.outcome


def parent_of(model: Moves, *, name: str = "agent", depth: int = 1, tap: TapTool | None = None, **keywords) -> Agent:
    tools = (tap or TapTool(), FinishTool(), SpawnAgent(depth=depth))
    return Agent(model, tools=tools, name=name, **keywords)


def results(agent: Agent) -> list[tuple[str, str, str | None]]:
    """Tool, status and code of each result in the log."""
    return [
        (message.tool, message.status, message.code) for message in agent.session.messages if message.role == "tool"
    ]


def last_end(agent: Agent) -> dict[str, Any]:
    end = agent.session.events[-1]
    assert end.event == "turn/end"
    return end.end.model_dump(exclude_none=True)
