"""Our messages, in the words of pydantic-ai, which knows each provider's.

What belongs to one provider (a thought, a signature) goes back to that provider only. The thoughts of an interrupted
answer go to nobody: they lack the signature that would make them valid.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from pydantic_ai import messages as wire
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from workers.agent.messages import (
    AssistantMessage,
    Image,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    ToolStatus,
    UserMessage,
)
from workers.agent.model.interface import ModelRequest

#: What stands where a picture was that is not sent any more.
IMAGE_GONE = "[screenshot no longer shown]"

#: Thoughts that came between tags in the text itself. No model asks for these again.
_TAGGED_THOUGHT = "content"

#: The place where Google's signature of a call is kept.
THOUGHT_SIGNATURE = "thought_signature"

_OUTCOMES: Mapping[ToolStatus, Literal["success", "failed", "denied", "interrupted"]] = {
    "done": "success",
    "failed": "failed",
    "unknown": "failed",
    "refused": "denied",
    "aborted": "interrupted",
    "aborted_before_dispatch": "interrupted",
}


def request_parameters(request: ModelRequest) -> ModelRequestParameters:
    """The system prompt and the tools."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
            for tool in request.tools
        ],
        instruction_parts=[wire.InstructionPart(request.system)] if request.system else [],
    )


def request_settings(request: ModelRequest) -> ModelSettings:
    # Retries are ours alone: two layers of them multiply, and the inner one does not hear the signal.
    settings = ModelSettings(max_retries=0, cache=True)
    if request.max_output_tokens is not None:
        settings["max_tokens"] = request.max_output_tokens
    return settings


def provider_messages(request: ModelRequest, *, provider: str) -> list[wire.ModelMessage]:
    """The conversation. `provider` is the one that it goes to, as pydantic-ai calls it."""
    found: list[wire.ModelMessage] = []
    asked: list[wire.ModelRequestPart] = []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            answer = _response(message, provider)
            # An answer of which nothing was delivered is no message: what was asked around it is one question.
            if answer is None:
                continue
            found.extend(_question(asked))
            asked = []
            found.append(answer)
        else:
            asked.append(_request_part(message, request.images))
    found.extend(_question(asked))
    return found


def _question(parts: list[wire.ModelRequestPart]) -> Iterable[wire.ModelRequest]:
    if parts:
        yield wire.ModelRequest(parts=parts)


def _request_part(message: UserMessage | ToolMessage, images: Mapping[str, bytes]) -> wire.ModelRequestPart:
    if isinstance(message, UserMessage):
        return wire.UserPromptPart(message.text)
    text = tool_text(message)
    shown = [_shown(image, images) for image in message.images]
    return wire.ToolReturnPart(
        tool_name=message.tool,
        tool_call_id=message.call_id,
        content=[text, *shown] if shown else text,
        outcome=_OUTCOMES[message.status],
    )


def tool_text(message: ToolMessage) -> str:
    """What came of a call. What is not `done` says so: not every provider has a field for it."""
    if message.status == "done":
        return message.text
    said = message.status.replace("_", " ")
    label = said if message.code in (None, message.status) else f"{said}: {message.code}"
    return f"[{label}] {message.text}"


def _shown(image: Image, images: Mapping[str, bytes]) -> str | wire.BinaryContent:
    content = images.get(image.sha256)
    return IMAGE_GONE if content is None else wire.BinaryContent(content, media_type=image.media_type)


def _response(message: AssistantMessage, provider: str) -> wire.ModelResponse | None:
    parts = list(_response_parts(message, provider))
    if not parts:
        return None
    is_own = any(not isinstance(part, TextPart) and part.provider == provider for part in message.parts)
    return wire.ModelResponse(
        parts=parts,
        provider_name=provider if is_own else None,
        state="interrupted" if message.is_interrupted else "complete",
    )


def _response_parts(message: AssistantMessage, provider: str) -> Iterable[wire.ModelResponsePart]:
    for part in message.parts:
        match part:
            case TextPart():
                yield wire.TextPart(part.text)
            case ThinkingPart():
                if not message.is_interrupted and _is_taken_back(part, provider):
                    yield wire.ThinkingPart(
                        part.text, id=part.part_id, signature=part.signature, provider_name=part.provider
                    )
            case ToolCall():
                yield _call_part(part, provider)
            case _:
                assert_never(part)


def _is_taken_back(part: ThinkingPart, provider: str) -> bool:
    if part.provider != provider:
        return False
    return part.signature is not None or part.part_id not in (None, _TAGGED_THOUGHT)


def _call_part(call: ToolCall, provider: str) -> wire.ToolCallPart:
    part = wire.ToolCallPart(tool_name=call.tool, args=call.arguments, tool_call_id=call.call_id)
    if call.signature is not None and call.provider == provider:
        part.provider_name = provider
        part.provider_details = {THOUGHT_SIGNATURE: call.signature}
    return part
