"""The planner that plays a script: goals without a network and without a bill, for demonstrations and for tests."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, cast

from corral.goal.references import ElementIndex, ObservationId, Reference, filled
from corral.goal.script import Script, Step, parse_script
from workers.agent.cancellation import CancelSignal, pause_unless_aborted
from workers.agent.messages import AnswerPart, AssistantMessage, Message, TextPart, ToolCall, ToolMessage
from workers.agent.model.interface import (
    Answer,
    AnswerDelta,
    ModelErrorCode,
    ModelFailed,
    ModelRequest,
    OnDelta,
    Usage,
)
from workers.agent.model.observed import Observed, last_observed
from workers.agent.tools.tool import ToolCode
from workers.clock import Clock, boot_seconds

_ENDED = "the script has no more steps; one that reaches its goal ends with `finish`"
#: What is said of calls that are written wrongly.
_MISTAKES: frozenset[str | None] = frozenset({ToolCode.UNKNOWN_TOOL, ToolCode.INVALID_ARGUMENTS, ToolCode.UNKNOWN_FLOW})
_WORDS = re.compile(r"\S+\s*|\s+")


class ScriptPlanner:
    """Plays the steps of a script, one for each request. It belongs to one agent: it knows which step is next."""

    name = "scripted"
    takes_images = False

    def __init__(self, script: Script, *, clock: Clock = boot_seconds) -> None:
        self._clock = clock
        self._steps: Iterator[Step] = script.played()
        self._call_numbers = count(1)

    async def generate(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        """Raises `ModelFailed`: the script has ended, or names an element that is not on the screen."""
        if signal.is_aborted:
            return _answer((), is_interrupted=True)
        step = next(self._steps, None)
        if step is None:
            raise ModelFailed(ModelErrorCode.REJECTED, _ended_without_finish(request.messages))
        # Before a word is said: a step that cannot be played is no answer, not half of one.
        calls = self._calls(step, last_observed(request.messages))
        said = await self._say(step, request, signal, on_delta)
        texts = (TextPart(text=said),) if said else ()
        if signal.is_aborted:
            return _answer(texts, is_interrupted=True)
        return _answer((*texts, *calls))

    def _calls(self, step: Step, observed: Observed | None) -> tuple[ToolCall, ...]:
        def resolve(reference: Reference) -> int | str:
            return _resolved(reference, observed, line)

        found: list[ToolCall] = []
        for call in step.calls:
            line = call.line
            arguments = cast("dict[str, Any]", filled(call.arguments, resolve))
            found.append(ToolCall(call_id=f"call-{next(self._call_numbers)}", tool=call.tool, arguments=arguments))
        return tuple(found)

    async def _say(self, step: Step, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> str:
        """Says it word by word within the step's seconds; less of it if the signal fires."""
        words = _WORDS.findall(step.say) or [""]
        said = ""
        for word in words:
            if step.seconds:
                await self._think(step.seconds / len(words), request.deadline_at, signal)
            if signal.is_aborted:
                break
            if word:
                said += word
                on_delta(AnswerDelta(text=word))
        return said

    async def _think(self, seconds: float, deadline_at: float | None, signal: CancelSignal) -> None:
        left = seconds if deadline_at is None else min(seconds, deadline_at - self._clock())
        await pause_unless_aborted(max(left, 0), signal)
        if not signal.is_aborted and deadline_at is not None and self._clock() >= deadline_at:
            raise ModelFailed(ModelErrorCode.TIMEOUT, "the time of this goal ended before the script had answered")


def script_model(text: str) -> ScriptPlanner:
    """A planner for one agent that plays the script in `text`. Raises `InvalidScript`."""
    return ScriptPlanner(parse_script(text))


def _resolved(reference: Reference, observed: Observed | None, line: int) -> int | str:
    if observed is None:
        raise _refused("the script names the screen, which no earlier step has observed", line)
    match reference:
        case ObservationId():
            return observed.observation_id
        case ElementIndex(text):
            index = observed.index_of(text)
            if index is None:
                raise _refused(f"the script looks for an element `{text}`, which is not on the screen", line)
            return index


def _ended_without_finish(messages: Sequence[Message]) -> str:
    """With the last call that could not be run as it is written: a mistake of the script more often than not."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.code in _MISTAKES:
            return f"{_ENDED}. A call that could not be run, `{message.tool}`: {message.text}"
    return _ENDED


def _refused(message: str, line: int) -> ModelFailed:
    return ModelFailed(ModelErrorCode.REJECTED, f"{message} (line {line} of the script)")


def _answer(parts: Sequence[AnswerPart], *, is_interrupted: bool = False) -> Answer:
    return Answer(AssistantMessage(parts=tuple(parts), is_interrupted=is_interrupted), Usage())
