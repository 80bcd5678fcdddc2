"""The system prompt, put together anew for each turn from sections."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workers.agent.cancellation import CancelSignal, contained

if TYPE_CHECKING:
    from workers.agent.agent import Agent


@dataclass(frozen=True, slots=True)
class AssembleContext:
    """What a section is asked with. `signal` is the turn's; None when the prompt is assembled outside of a turn."""

    agent: "Agent"
    signal: CancelSignal | None = None


#: A section's text; an empty one is left out.
Section = Callable[[AssembleContext], Awaitable[str]]


def words(text: str) -> Section:
    """A section that is always the same."""

    async def section(_context: AssembleContext) -> str:
        return text

    return section


class SystemPrompt:
    def __init__(self, sections: Sequence[Section] = ()) -> None:
        self._sections = tuple(sections)

    async def assemble(self, context: AssembleContext) -> str:
        """The sections' texts in their order. Raises `TurnInterrupted` between two of them."""
        texts: list[str] = []
        for section in self._sections:
            if context.signal is not None:
                context.signal.check()
            texts.append((await contained(section(context))).strip())
        return "\n\n".join(text for text in texts if text)
