"""Whether what came of a request is an answer. What is not has a code of its own; nothing is taken for one."""

import asyncio
from collections.abc import Mapping

from pydantic_ai import messages as wire

from workers.agent.messages import AssistantMessage, TextPart, ToolCall
from workers.agent.model.answer_parts import UnparseableAnswer, whole_parts
from workers.agent.model.failures import Failure, failure_of
from workers.agent.model.interface import ModelErrorCode
from workers.agent.model.received import Cut, Received

_BROKEN_OFF = Failure(ModelErrorCode.UNAVAILABLE, "the answer was broken off", can_retry=True)

_CUTS: Mapping[Cut, Failure] = {
    "deadline": Failure(ModelErrorCode.TIMEOUT, "the time of this goal ended before the model had answered"),
    "excess": Failure(ModelErrorCode.TRUNCATED, "the answer is longer than any that can be used"),
    "idle": Failure(ModelErrorCode.TIMEOUT, "the model was silent for too long", can_retry=True),
}

#: How an answer ends that cannot be used, whatever it holds.
_ENDINGS: Mapping[wire.FinishReason, Failure] = {
    "length": Failure(ModelErrorCode.TRUNCATED, "the answer reached the limit of output tokens"),
    "content_filter": Failure(ModelErrorCode.REFUSED, "the model refused to answer"),
    "error": Failure(ModelErrorCode.UNAVAILABLE, "the provider ended the answer with an error", can_retry=True),
}


def judged(received: Received, *, says_when_finished: bool) -> AssistantMessage | Failure:
    """The message, or why there is none. Of a request that the signal cut off it is what was delivered."""
    if received.response is not None:
        return _judged_response(received.response, says_when_finished=says_when_finished)
    if received.cut == "signal":
        return AssistantMessage(parts=received.parts, is_interrupted=True)
    if received.cut is not None:
        return _CUTS.get(received.cut, _BROKEN_OFF)
    if received.error is None or isinstance(received.error, asyncio.CancelledError):
        return _BROKEN_OFF
    return failure_of(received.error)


def _judged_response(response: wire.ModelResponse, *, says_when_finished: bool) -> AssistantMessage | Failure:
    if response.finish_reason is None:
        if says_when_finished:
            return _BROKEN_OFF
    elif response.finish_reason in _ENDINGS:
        return _ENDINGS[response.finish_reason]
    try:
        parts = whole_parts(response.parts)
    except UnparseableAnswer as error:
        return Failure(ModelErrorCode.UNPARSEABLE, str(error), can_retry=True)
    if not any(isinstance(part, TextPart | ToolCall) for part in parts):
        return Failure(ModelErrorCode.EMPTY, "the model answered nothing", can_retry=True)
    return AssistantMessage(parts=parts)
