"""What every log of a session must be, whatever happened to its agent."""

from collections.abc import Sequence

from workers.agent.messages import AssistantMessage, Message, ToolMessage
from workers.agent.model.interface import ModelRequest
from workers.agent.session.events import (
    MessageAdded,
    SessionEvent,
    SessionStart,
    StepEnd,
    StepStart,
    SystemAssembled,
    ToolStart,
    TurnEnd,
    TurnStart,
)
from workers.agent.session.replay import request_messages


def assert_balanced(events: Sequence[SessionEvent], *, is_over: bool = True) -> None:
    """Every start has its end, and every call of a tool exactly one result, which says the truth about its start.

    `is_over`: nothing may be open at the end.
    """
    assert isinstance(events[0], SessionStart)
    reader = _Reader()
    for event in events[1:]:
        reader.read(event)
    if is_over:
        assert not reader.is_in_turn
        assert not reader.open_calls


class _Reader:
    def __init__(self) -> None:
        self.turn = self.step = 0
        self.is_in_turn = self.is_in_step = False
        self.open_calls: list[str] = []
        self.started: set[str] = set()

    def read(self, event: SessionEvent) -> None:
        match event:
            case TurnStart() | StepStart():
                self._read_start(event)
            case TurnEnd() | StepEnd():
                self._read_end(event)
            case ToolStart():
                assert event.call_id == self.open_calls[0]
                self.started.add(event.call_id)
            case MessageAdded():
                self._read_message(event.message)
            case _:
                pass
        assert getattr(event, "turn", self.turn) == self.turn

    def _read_start(self, event: TurnStart | StepStart) -> None:
        assert not self.is_in_step
        if isinstance(event, TurnStart):
            assert not self.is_in_turn
            self.turn, self.step, self.is_in_turn = self.turn + 1, 0, True
        else:
            assert self.is_in_turn
            self.step, self.is_in_step = self.step + 1, True
            assert event.step == self.step

    def _read_end(self, event: TurnEnd | StepEnd) -> None:
        assert self.is_in_turn
        assert not self.open_calls
        assert self.is_in_step == isinstance(event, StepEnd)
        self.is_in_step = False
        self.is_in_turn = isinstance(event, StepEnd)

    def _read_message(self, message: Message) -> None:
        match message:
            case AssistantMessage():
                assert self.is_in_step
                assert not self.open_calls
                self.open_calls = [call.call_id for call in message.calls]
            case ToolMessage():
                assert message.call_id == self.open_calls.pop(0)
                has_run = message.call_id in self.started
                assert not (has_run and message.status == "aborted_before_dispatch")
                assert has_run or message.status != "aborted"
                self.started.discard(message.call_id)
            case _:
                assert not self.open_calls


def assert_replays(events: Sequence[SessionEvent], requests: Sequence[ModelRequest], lengths: Sequence[int]) -> None:
    """What the model was told in each request follows from what the log had said until then."""
    assert len(requests) == len(lengths)
    for request, length in zip(requests, lengths, strict=True):
        before = events[:length]
        assert request.messages == request_messages(before)
        system = [event.text for event in before if isinstance(event, SystemAssembled)]
        assert request.system == system[-1]
