"""An agent with a listener at every seam, so that a test can wait, yield, or look round at each of them."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.workers.agent.scripted import Nothing, answer, call
from workers.agent.agent import Agent
from workers.agent.cancellation import CancelSignal
from workers.agent.hooks import Announcement, Hooks, Waterfall
from workers.agent.identity import current_agent
from workers.agent.model.interface import Answer, ModelRequest, OnDelta
from workers.agent.session.session import Session
from workers.agent.system_prompt import AssembleContext, SystemPrompt
from workers.agent.tools.tool import Tool, ToolOutcome, ToolRequest

#: In the order in which a turn of two steps, the first with a call of a tool, comes by.
SEAMS = (
    "prompt_submission",
    "system_prompt",
    "session_prefix",
    "pre_step",
    "request",
    "model",
    "model_stream",
    "approval",
    "tool",
    "tool_execution",
    "step_result",
    "continuation",
    "turn_stop",
    "turn_end",
)

Visit = Callable[[str, CancelSignal], Awaitable[None]]


class Seams:
    """Calls `visit(seam, signal)` wherever a turn comes by, and remembers what was seen there."""

    def __init__(self, visit: Visit, *, on_the_way_back: bool = False) -> None:
        """`on_the_way_back`: the listeners of waterfalls visit when they have what came from below."""
        self.visit = visit
        self._on_the_way_back = on_the_way_back
        self.visits: list[tuple[str, CancelSignal, Agent | None]] = []
        self.running: list[str] = []

    async def come_by(self, seam: str, signal: CancelSignal) -> None:
        self.visits.append((seam, signal, current_agent()))
        self.running.append(seam)
        try:
            await self.visit(seam, signal)
        finally:
            self.running.remove(seam)

    @property
    def seen(self) -> list[str]:
        return [seam for seam, _, _ in self.visits]

    @property
    def signals(self) -> list[CancelSignal]:
        return [signal for _, signal, _ in self.visits]

    def hooks(self) -> Hooks:
        hooks = Hooks()
        for seam in SEAMS:
            match getattr(hooks, seam, None):
                case Waterfall() as waterfall:
                    waterfall.add(self._in_waterfall(seam))
                case Announcement() as announcement:
                    announcement.add(self._in_announcement(seam))
        return hooks

    def system_prompt(self) -> SystemPrompt:
        async def section(context: AssembleContext) -> str:
            assert context.signal is not None
            await self.come_by("system_prompt", context.signal)
            return "You touch things."

        return SystemPrompt([section])

    def agent(self, model: "SeamModel | None" = None, **keywords: Any) -> Agent:
        return Agent(
            model or SeamModel(self),
            tools=[SeamTool(self)],
            system_prompt=self.system_prompt(),
            hooks=self.hooks(),
            **keywords,
        )

    def _in_waterfall(self, seam: str) -> Any:
        async def listener(agent: Agent, _place: Any, value: Any, signal: CancelSignal, go_on: Any) -> Any:
            assert agent is current_agent()
            if self._on_the_way_back:
                result = await go_on(value)
                await self.come_by(seam, signal)
                return result
            await self.come_by(seam, signal)
            return await go_on(value)

        return listener

    def _in_announcement(self, seam: str) -> Any:
        async def listener(agent: Agent, _place: Any, signal: CancelSignal) -> None:
            assert agent is current_agent()
            await self.come_by(seam, signal)

        return listener


class SeamModel:
    """Asks for one touch in each turn, then says that it was done."""

    name = "seams"
    takes_images = False

    def __init__(self, seams: Seams) -> None:
        self._seams = seams
        self.requests: list[ModelRequest] = []
        self.log_lengths: list[int] = []

    async def generate(self, request: ModelRequest, signal: CancelSignal, _on_delta: OnDelta) -> Answer:
        agent = current_agent()
        assert agent is not None
        self.requests.append(request)
        self.log_lengths.append(len(agent.session.events))
        await self._seams.come_by("model_stream", signal)
        has_touched = request.messages[-1].role == "tool"
        answered = answer("touched") if has_touched else answer("", call("touch"))
        if signal.is_aborted:
            return answer("half", *answered.message.calls, is_interrupted=True)
        return answered


class SeamTool(Tool[Nothing]):
    name = "touch"
    description = "Touches something."
    arguments = Nothing

    def __init__(self, seams: Seams) -> None:
        self._seams = seams

    async def run(self, _arguments: Nothing, request: ToolRequest) -> ToolOutcome:
        await self._seams.come_by("tool_execution", request.signal)
        if request.signal.is_aborted:
            request.signal.check()
        return ToolOutcome("done", "touched")


class SlowDisk(Session):
    """A session whose flush is a seam as well."""

    def __init__(self, seams: Seams, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._seams = seams
        self.flushes = 0

    async def flush(self) -> None:
        await self._seams.visit("flush", self._signal)
        self.flushes += 1

    @property
    def _signal(self) -> CancelSignal:
        agent = current_agent()
        assert agent is not None
        assert agent.turn is not None
        return agent.turn.signal
