"""An agent that is watched: what it was asked to do is written down, and what it did is judged by that."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.workers.agent.logs import assert_balanced, assert_replays
from tests.workers.agent.seams import SeamModel, Seams, SlowDisk, Visit
from workers.agent.agent import AgentStatus
from workers.agent.cancellation import PARENT, USER, AgentCancelCause, AgentInterruptReason
from workers.agent.messages import UserMessage
from workers.agent.prompt_queue import Prompt
from workers.agent.session.events import MessageAdded, SessionEvent, TurnEnd
from workers.agent.session.reading import read_session

CAUSES = (USER, PARENT)

#: What the log keeps of an outcome.
DURABLE = {"completed": "completed", "aborted": "aborted", "disposed": "aborted"}


class Watched:
    def __init__(self, visit: Visit, path: Path) -> None:
        self.path = path
        self.seams = Seams(visit)
        self.model = SeamModel(self.seams)
        self.session = SlowDisk(self.seams, path)
        self.agent = self.seams.agent(self.model, session=self.session)
        self.agent.on_status(self._look)
        self.prompts: dict[str, Prompt] = {}
        #: What nobody cancelled: each is to be read by the model, once.
        self.wanted: list[str] = []
        self.reasons: dict[int, AgentInterruptReason] = {}
        self._told = 0

    def prompt(self) -> Prompt:
        text = self._next_text("prompt")
        self.prompts[text] = self.agent.prompt(text)
        self.wanted.append(text)
        return self.prompts[text]

    def steer(self) -> None:
        text = self._next_text("steering")
        self.agent.steer(text)
        self.wanted.append(text)

    def cancel(self, cause: AgentCancelCause = USER) -> None:
        """What a listener prompts while the signal fires is a replacement, and still wanted."""
        self.wanted.clear()
        turn = self.agent.turn
        if turn is not None and not turn.signal.is_aborted:
            self.reasons[turn.number] = cause
        self.agent.cancel(cause)

    async def dispose(self) -> None:
        self.wanted.clear()
        await self.agent.dispose()
        self.look()

    async def when_idle(self) -> None:
        await self.agent.when_idle()
        self.look()

    def look(self) -> None:
        """Nothing may run."""
        assert self.agent.status != "running"
        assert self.agent.turn is None
        assert self.seams.running == []

    def judge(self) -> None:
        """To be called when all has settled."""
        self.look()
        events = read_session(self.path)
        assert tuple(events) == self.session.events
        assert_balanced(events)
        assert_replays(events, self.model.requests, self.model.log_lengths)
        ends = [event for event in events if isinstance(event, TurnEnd)]
        assert self.session.flushes == len(ends)
        self._judge_texts(events)
        self._judge_outcomes(events, {event.turn: event.end.kind for event in ends})

    def _judge_texts(self, events: Sequence[SessionEvent]) -> None:
        read = Counter(
            event.message.text
            for event in events
            if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage)
        )
        assert set(read.values()) <= {1}
        assert set(self.wanted) <= set(read)

    def _judge_outcomes(self, events: Sequence[SessionEvent], ends: dict[int, str]) -> None:
        turn_of = {
            event.message.text: event.turn
            for event in events
            if isinstance(event, MessageAdded)
            and isinstance(event.message, UserMessage)
            and event.message.source == "prompt"
        }
        for text, prompt in self.prompts.items():
            assert prompt._outcome.done()
            outcome = prompt._outcome.result()
            turn = turn_of.get(text)
            assert outcome.kind == "completed" or text not in self.wanted
            assert outcome.kind != "completed" or turn is not None
            assert outcome.kind != "dropped" or turn is None
            if turn is not None:
                assert ends[turn] == DURABLE[outcome.kind]
            if turn is not None and outcome.kind == "aborted":
                assert outcome.reason is self.reasons[turn]

    def _look(self, status: AgentStatus) -> None:
        if status != "running":
            self.look()

    def _next_text(self, kind: str) -> str:
        self._told += 1
        return f"{kind} {self._told}"
