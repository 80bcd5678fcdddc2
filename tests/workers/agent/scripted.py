"""The far side of an agent: a model that follows a script, and tiny tools."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from workers.agent.agent import Agent
from workers.agent.cancellation import CancelSignal
from workers.agent.identity import current_agent
from workers.agent.messages import AssistantMessage, TextPart, ToolCall, UserMessage
from workers.agent.model.interface import Answer, AnswerDelta, ModelRequest, OnDelta, Usage
from workers.agent.tools.tool import Arguments, Finish, Tool, ToolOutcome, ToolRequest

Scene = Callable[[ModelRequest, CancelSignal, OnDelta], Awaitable[Answer]]

_numbers = itertools.count(1)


def call(tool: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(call_id=f"call_{next(_numbers)}", tool=tool, arguments=arguments)


def answer(text: str = "", *calls: ToolCall, tokens: int = 0, is_interrupted: bool = False) -> Answer:
    parts = ((TextPart(text=text),) if text else ()) + calls
    return Answer(AssistantMessage(parts=parts, is_interrupted=is_interrupted), Usage(tokens, 0))


class ScriptedModel:
    """Answers with one scene of its script after the other, and `answer("ok")` when that has come to its end.

    A scene is an answer, an exception to raise, or a function that is called like `AgentModel.generate`.
    """

    name = "scripted"
    takes_images = True

    def __init__(self, *script: Answer | Exception | Scene) -> None:
        self._script = list(script)
        self.requests: list[ModelRequest] = []
        self.signals: list[CancelSignal] = []
        #: How long the session's log was at each request.
        self.log_lengths: list[int] = []
        self.is_running = False

    async def generate(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        assert not self.is_running, "two requests at once"
        self.requests.append(request)
        self.signals.append(signal)
        if (agent := current_agent()) is not None:
            self.log_lengths.append(len(agent.session.events))
        scene = self._script.pop(0) if self._script else answer("ok")
        if isinstance(scene, Exception):
            raise scene
        if isinstance(scene, Answer):
            return scene
        self.is_running = True
        try:
            return await scene(request, signal, on_delta)
        finally:
            self.is_running = False


class Hang:
    """A scene, and as a listener or a section whatever waits: says that it was reached, and waits for the signal."""

    def __init__(self, delivered: str = "", *calls: ToolCall) -> None:
        self._delivered = answer(delivered, *calls, is_interrupted=True)
        self.reached = asyncio.Event()

    async def __call__(self, _request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        """Streams what is to be delivered, and gives it back when the signal fires."""
        for character in self._delivered.message.text:
            on_delta(AnswerDelta(text=character))
        await self.until(signal)
        return self._delivered

    async def until(self, signal: CancelSignal) -> None:
        self.reached.set()
        await signal.wait()


class Nothing(Arguments):
    pass


class Touch(Tool[Nothing]):
    """Does at once what it is asked to, and counts how often."""

    name = "touch"
    description = "Touches something."
    arguments = Nothing

    def __init__(self, outcome: ToolOutcome | None = None) -> None:
        self.outcome = outcome or ToolOutcome("done", "touched")
        self.times = 0

    async def run(self, _arguments: Nothing, _request: ToolRequest) -> ToolOutcome:
        self.times += 1
        return self.outcome


class Patient(Tool[Nothing]):
    """Waits until the signal fires, and says that nothing of it happened."""

    name = "patient"
    description = "Waits for the signal."
    arguments = Nothing

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def run(self, _arguments: Nothing, request: ToolRequest) -> ToolOutcome:
        self.reached.set()
        await request.signal.wait()
        request.signal.check()
        raise AssertionError("unreachable")


class Deaf(Tool[Nothing]):
    """Ignores the signal, and ends when the test says so."""

    name = "deaf"
    description = "Ignores the signal."
    arguments = Nothing

    def __init__(self, outcome: ToolOutcome | None = None) -> None:
        self.outcome = outcome or ToolOutcome("done", "did it all the same")
        self.reached = asyncio.Event()
        self.may_end = asyncio.Event()

    async def run(self, _arguments: Nothing, _request: ToolRequest) -> ToolOutcome:
        self.reached.set()
        await self.may_end.wait()
        return self.outcome


class Broken(Tool[Nothing]):
    """Has a defect."""

    name = "broken"
    description = "Fails."
    arguments = Nothing

    async def run(self, _arguments: Nothing, _request: ToolRequest) -> ToolOutcome:
        raise ZeroDivisionError("its defect")


class FinishArguments(Arguments):
    message: str = "all done"


class FinishTool(Tool[FinishArguments]):
    """Claims that the goal is reached."""

    name = "finish"
    description = "Ends the goal."
    arguments = FinishArguments
    is_read_only = True

    async def run(self, arguments: FinishArguments, _request: ToolRequest) -> ToolOutcome:
        return ToolOutcome("done", "finished", finish=Finish("success", arguments.message, {"sum": 3}))


def scripted_agent(*script: Answer | Exception | Scene, **keywords: Any) -> tuple[Agent, ScriptedModel]:
    """An agent and its model. `keywords` go to the agent."""
    model = ScriptedModel(*script)
    return Agent(model, **keywords), model


def texts_told(request: ModelRequest) -> list[str]:
    """What users and loop say in a request."""
    return [message.text for message in request.messages if isinstance(message, UserMessage)]
