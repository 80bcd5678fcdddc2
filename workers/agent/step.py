"""One step: one request to the model, and the tool calls of its answer."""

from functools import cache
from typing import TYPE_CHECKING, Any

from corral.traces.spans import span
from workers.agent.hooks import RequestConfig, StepResult, unchanged
from workers.agent.messages import AssistantMessage, UserMessage
from workers.agent.model.interface import (
    Answer,
    AnswerDelta,
    ModelErrorCode,
    ModelFailed,
    ModelRequest,
    ToolSpec,
    Usage,
)
from workers.agent.place import Place
from workers.agent.session import events
from workers.agent.tool_calls import ToolCalls
from workers.agent.tools.tool import AnyTool, Arguments

if TYPE_CHECKING:
    from workers.agent.turn import Turn


class RequestChanged(RuntimeError):
    """A hook changed the words of a request; only prompt submission, prompt assembly and session prefix may."""


class Step:
    def __init__(self, turn: "Turn", place: Place, system: str) -> None:
        self._turn = turn
        self._agent = turn.agent
        self._signal = turn.signal
        self._place = place
        self._system = system
        self._usage = Usage()
        self._calls = ToolCalls(turn, place)

    async def run(self) -> StepResult:
        """Runs the step. What it brought is in the log, whether it ends or raises."""
        turn, step = self._place.turn, self._place.step
        self._agent.record(events.StepStart(turn=turn, step=step))
        try:
            return await self._run()
        finally:
            self._agent.record(
                events.StepEnd(
                    turn=turn,
                    step=step,
                    input_tokens=self._usage.input_tokens,
                    output_tokens=self._usage.output_tokens,
                )
            )

    async def _run(self) -> StepResult:
        agent, signal = self._agent, self._signal
        signal.check()
        await self._turn.seam(agent.hooks.pre_step.run(agent, self._place, signal))
        message = await self._answer(await self._configured())
        results = await self._calls.run_all(message.calls)
        result = StepResult(message, results, self._usage, finish=self._calls.finish)
        result = await self._turn.seam(agent.hooks.step_result.run(agent, self._place, result, signal, unchanged))
        if result.hint:
            self._turn.add_message(UserMessage(text=result.hint, source="loop"), step=self._place.step)
        return result

    async def _configured(self) -> ModelRequest:
        agent = self._agent
        config = await self._turn.seam(
            agent.hooks.request.run(
                agent,
                self._place,
                RequestConfig(tools=tuple(_spec(tool) for tool in agent.tools.values())),
                self._signal,
                unchanged,
            )
        )
        messages, images = agent.session.request_messages()
        return ModelRequest(
            system=self._system,
            messages=messages,
            tools=config.tools,
            images=images,
            deadline_at=self._turn.budget.deadline_at,
            max_output_tokens=config.max_output_tokens,
        )

    async def _answer(self, request: ModelRequest) -> AssistantMessage:
        """The answer, recorded as far as it was delivered, whatever is raised."""
        delivered: list[AssistantMessage] = []

        async def ask(asked: ModelRequest) -> Answer:
            if (asked.system, asked.messages) != (request.system, request.messages):
                raise RequestChanged(RequestChanged.__doc__)
            answer = await self._ask(asked)
            delivered.append(answer.message)
            return answer

        try:
            answer = await self._agent.hooks.model.run(self._agent, self._place, request, self._signal, ask)
        except Exception:
            if delivered:
                self._keep(delivered[-1].model_copy(update={"is_interrupted": True}))
                await self._calls.drop_all(delivered[-1].calls)
            raise
        self._keep(answer.message)
        if answer.message.is_interrupted and not self._signal.is_aborted:
            await self._calls.drop_all(answer.message.calls)
            raise ModelFailed(ModelErrorCode.TRUNCATED, "the answer broke off before its end")
        if not answer.message.parts and not self._signal.is_aborted:
            raise ModelFailed(ModelErrorCode.EMPTY, "the model answered with nothing")
        return answer.message

    async def _ask(self, request: ModelRequest) -> Answer:
        agent = self._agent
        # What must be redacted could lie across two pieces: then an answer is told when it is whole.
        on_delta = _untold if agent.session.is_redacted else agent.tell
        with span("model request", agent=agent.name, model=agent.model.name, step=self._place.step) as traced:
            try:
                answer = await agent.model.generate(request, self._signal, on_delta)
            except ModelFailed as failed:
                self._spend(failed.usage)
                traced.fail(failed.code)
                raise
            traced.set(input_tokens=answer.usage.input_tokens, output_tokens=answer.usage.output_tokens)
        self._spend(answer.usage)
        return answer

    def _spend(self, usage: Usage) -> None:
        # At once: what the tools of this step start may use what is left after it.
        self._usage += usage
        self._turn.budget.spend(tokens=usage.total_tokens)

    def _keep(self, message: AssistantMessage) -> None:
        if message.parts:
            self._agent.record(events.MessageAdded(turn=self._place.turn, step=self._place.step, message=message))


def _untold(_delta: AnswerDelta) -> None:
    pass


def _spec(tool: AnyTool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description, _schema(tool.arguments))


@cache
def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    # Kept: pydantic takes a millisecond for each, and every step tells the model of every tool.
    return arguments.model_json_schema()
