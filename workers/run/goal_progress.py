"""How far an agent is, read off what it records."""

from collections.abc import Callable

from workers.agent.agent import AgentEvent
from workers.agent.messages import AssistantMessage, ToolCall
from workers.agent.session.events import MessageAdded, StepStart, ToolStart
from workers.run.result import Checkpoint, RunStatus


class GoalProgress:
    """Counts steps, and tells each call that begins. An agent's steps have no total."""

    def __init__(self, on_checkpoint: Callable[[Checkpoint], None]) -> None:
        self.step = 0
        self._on_checkpoint = on_checkpoint
        self._calls: dict[str, ToolCall] = {}

    def note(self, event: AgentEvent) -> None:
        match event:
            case StepStart():
                self.step = event.step
                self._tell("thinks")
            case ToolStart():
                self._tell(_words(self._calls[event.call_id]))
            case MessageAdded(message=AssistantMessage() as message):
                self._calls = {call.call_id: call for call in message.calls}
                if message.text:
                    self._tell(message.text)
            case _:
                pass

    def close(self, status: RunStatus, text: str) -> None:
        self._on_checkpoint(Checkpoint(self.step, None, text, status))

    def _tell(self, text: str) -> None:
        self._on_checkpoint(Checkpoint(self.step, None, text, "running"))


def _words(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items() if value is not None)
    return f"{call.tool} {arguments}".strip()
