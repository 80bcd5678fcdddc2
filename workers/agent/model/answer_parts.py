"""What a provider answered, in our words.

A call whose arguments are no JSON object is never guessed at: of a whole answer it is an error, of an interrupted one
it is left out, as a call of which the end is missing.
"""

import json
import math
from collections.abc import Container, Iterable
from typing import Any, cast

from pydantic_ai import messages as wire

from workers.agent.messages import AnswerPart, TextPart, ThinkingPart, ToolCall
from workers.agent.model.provider_messages import THOUGHT_SIGNATURE

#: Levels of a call's arguments. No tool has more than a few; the log, and Python itself, end at some hundred.
MAX_DEPTH = 64


class UnparseableAnswer(ValueError):
    """The answer holds a call that nobody could run."""


def whole_parts(parts: Iterable[wire.ModelResponsePart]) -> tuple[AnswerPart, ...]:
    """The parts of a complete answer. Raises `UnparseableAnswer`."""
    found = tuple(part for part in map(_whole_part, parts) if part is not None)
    call_ids = [part.call_id for part in found if isinstance(part, ToolCall)]
    if len(set(call_ids)) != len(call_ids):
        raise UnparseableAnswer("two tool calls of one answer have the same id")
    return found


def delivered_parts(parts: Iterable[wire.ModelResponsePart], ended: Container[str]) -> tuple[AnswerPart, ...]:
    """The parts of an answer that was cut off. `ended` are the ids of the calls whose end was seen."""
    found: list[AnswerPart] = []
    call_ids: set[str] = set()
    for part in parts:
        # Whether a call without arguments is complete cannot be seen from the call itself.
        if isinstance(part, wire.ToolCallPart) and not part.args and part.tool_call_id not in ended:
            continue
        try:
            whole = _whole_part(part)
        except UnparseableAnswer:
            continue
        if isinstance(whole, ToolCall):
            if whole.call_id in call_ids:
                continue
            call_ids.add(whole.call_id)
        if whole is not None:
            found.append(whole)
    return tuple(found)


def valid_text(text: str) -> str:
    """`text` with what is no character replaced: providers cut characters in two, and a log cannot hold halves."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _whole_part(part: wire.ModelResponsePart) -> AnswerPart | None:
    match part:
        case wire.TextPart(content=text):
            return TextPart(text=valid_text(text)) if text else None
        case wire.ThinkingPart(content=text):
            if not text and not part.signature:
                return None
            return ThinkingPart(
                text=valid_text(text), signature=part.signature, part_id=part.id, provider=part.provider_name
            )
        case wire.ToolCallPart():
            return _call(part)
        case _:
            # Pictures, or what a provider ran by itself: neither is asked for.
            return None


def _call(part: wire.ToolCallPart) -> ToolCall:
    if not part.tool_name or not part.tool_call_id:
        raise UnparseableAnswer("a tool call has no name or no id")
    signature = (part.provider_details or {}).get(THOUGHT_SIGNATURE)
    is_signed = isinstance(signature, str)
    return ToolCall(
        call_id=valid_text(part.tool_call_id),
        tool=valid_text(part.tool_name),
        arguments=_arguments(part),
        signature=signature if is_signed else None,
        provider=part.provider_name if is_signed else None,
    )


def _arguments(part: wire.ToolCallPart) -> dict[str, Any]:
    if not part.args:
        return {}
    text = part.args if isinstance(part.args, str) else json.dumps(part.args)
    try:
        arguments = json.loads(text, parse_constant=_refused, parse_float=_finite)
        json.dumps(arguments, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UnparseableAnswer(f"the arguments of `{part.tool_name[:60]}` are not JSON") from error
    if _is_deeper(arguments, MAX_DEPTH):
        raise UnparseableAnswer(f"the arguments of `{part.tool_name[:60]}` nest deeper than {MAX_DEPTH} levels")
    if not isinstance(arguments, dict):
        raise UnparseableAnswer(f"the arguments of `{part.tool_name[:60]}` are no JSON object")
    return cast("dict[str, Any]", arguments)


def _is_deeper(value: Any, levels: int) -> bool:
    match value:
        case dict():
            inner = list(cast("dict[str, Any]", value).values())
        case list():
            inner = cast("list[Any]", value)
        case _:
            return False
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
