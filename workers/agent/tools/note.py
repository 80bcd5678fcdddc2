"""Remembering what was found. It costs the device nothing."""

from pydantic import Field

from workers.agent.task_secrets import Secrets
from workers.agent.tools.tool import Arguments, Tool, ToolOutcome, ToolRequest

MAX_NOTES = 100
MAX_NOTE_CHARACTERS = 2000


class NoteArguments(Arguments):
    text: str = Field(min_length=1, max_length=MAX_NOTE_CHARACTERS)


class Note(Tool[NoteArguments]):
    name = "note"
    description = "Remember a text, such as a value read on one screen and needed on another. All notes are shown."
    arguments = NoteArguments
    is_read_only = True

    def __init__(self, notes: list[str], secrets: Secrets) -> None:
        """`notes` is whoever's the run is: they become a part of its result."""
        self._notes = notes
        self._secrets = secrets

    async def run(self, arguments: NoteArguments, request: ToolRequest) -> ToolOutcome:
        request.signal.check()
        self._notes.append(self._secrets.redacted(arguments.text))
        # The latest are the ones that count.
        del self._notes[:-MAX_NOTES]
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(self._notes, start=1))
        return ToolOutcome("done", f"done: noted. All notes:\n{listed}")
