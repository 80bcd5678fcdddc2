"""From events to what a model is told, the same way for a running agent and for a log read from disk."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TypeVar

from workers.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage
from workers.agent.session.events import (
    Aborted,
    MessageAdded,
    PrefixSet,
    Seed,
    SessionEvent,
    StepEnd,
    StepStart,
    ToolStart,
    TurnEnd,
    TurnStart,
)

StartT = TypeVar("StartT", StepStart, TurnStart)

#: Of a turn that was cancelled as of one that failed: what is known of the call is the same.
NEVER_RAN = "Not run: the turn ended before this call was dispatched. Nothing of it happened."
RAN_TO_AN_UNKNOWN_END = "This call had begun when the turn was cut off; nobody knows what of it happened."


def messages_of(events: Iterable[SessionEvent]) -> tuple[Message, ...]:
    """The history: what every request of a later turn begins with."""
    return tuple(event.message for event in events if isinstance(event, Seed | MessageAdded))


def request_messages(events: Iterable[SessionEvent]) -> tuple[Message, ...]:
    """What a request says at this point: the latest turn's prefix, then the history."""
    prefix: tuple[Message, ...] = ()
    history: list[Message] = []
    for event in events:
        match event:
            case TurnStart():
                prefix = ()
            case PrefixSet():
                prefix = event.messages
            case Seed() | MessageAdded():
                history.append(event.message)
            case _:
                pass
    return (*prefix, *history)


def without_open_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history up to its last answer whose calls all have results, for a session that goes on from there."""
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and not _is_answered(message, messages[position + 1 :]):
            return messages[:position]
    return messages


def _is_answered(message: AssistantMessage, following: Sequence[Message]) -> bool:
    # Up to the next answer and no further: some providers begin to count their calls anew with each.
    results = takewhile(lambda later: not isinstance(later, AssistantMessage), following)
    answered = {result.call_id for result in results if isinstance(result, ToolMessage)}
    return all(call.call_id in answered for call in message.calls)


def closing_events(events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """What a log whose writer died lacks at its end: results of open calls, and the ends of step and turn."""
    closing: list[SessionEvent] = _results_of_open_calls(events)
    step = _last_open(events, StepStart, StepEnd)
    if step is not None:
        closing.append(StepEnd(turn=step.turn, step=step.step, input_tokens=0, output_tokens=0))
    turn = _last_open(events, TurnStart, TurnEnd)
    if turn is not None:
        closing.append(TurnEnd(turn=turn.turn, end=Aborted()))
    return closing


def _last_open(
    events: Sequence[SessionEvent], start: type[StartT], end: type[StepEnd] | type[TurnEnd]
) -> StartT | None:
    for event in reversed(events):
        if isinstance(event, end):
            return None
        if isinstance(event, start):
            return event
    return None


def _results_of_open_calls(events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """Only the last answer can have open calls, and results come in the order of the calls, one being run at a time."""
    has_begun = False
    open_calls: list[ToolCall] = []
    place = (0, 0)
    for event in events:
        match event:
            case MessageAdded(message=AssistantMessage() as answer):
                open_calls, place = list(answer.calls), (event.turn, event.step)
            case MessageAdded(message=ToolMessage()):
                del open_calls[:1]
                has_begun = False
            case ToolStart():
                has_begun = True
            case _:
                pass
    turn, step = place
    return [
        MessageAdded(turn=turn, step=step, message=_result(call, has_run=has_begun and position == 0))
        for position, call in enumerate(open_calls)
    ]


def _result(call: ToolCall, *, has_run: bool) -> ToolMessage:
    status = "aborted" if has_run else "aborted_before_dispatch"
    text = RAN_TO_AN_UNKNOWN_END if has_run else NEVER_RAN
    return ToolMessage(call_id=call.call_id, tool=call.tool, status=status, code=status, text=text)
