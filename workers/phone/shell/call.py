"""What a command is: an async function that gets its call and answers with an exit code."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workers.phone.faults import FaultKind

if TYPE_CHECKING:  # the phone opens shells: importing it here would be a circle
    from workers.phone.phone import Phone


@dataclass(slots=True)
class Call:
    """One command being run: what it was given and what it prints."""

    phone: "Phone"
    argv: tuple[str, ...]
    hung_up: asyncio.Event
    stdin: bytes = b""
    struck_by: FaultKind | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.argv[1:]

    def print(self, text: str) -> None:
        self.stdout += text.encode() + b"\n"

    def fail(self, text: str, *, exit_code: int = 1) -> int:
        """Print to the error output; returns the exit code, to be returned in turn."""
        self.stderr += text.encode() + b"\n"
        return exit_code


Command = Callable[[Call], Awaitable[int]]

#: What changes something on the phone's screen or in its apps; every prefix of words counts.
_ACTIONS: tuple[tuple[str, ...], ...] = (
    ("input",),
    ("monkey",),
    ("reboot",),
    ("svc",),
    ("am", "start"),
    ("am", "start-activity"),
    ("am", "force-stop"),
    ("am", "kill"),
    ("am", "broadcast"),
    ("pm", "clear"),
    ("pm", "install"),
    ("pm", "uninstall"),
    ("ime", "set"),
    ("ime", "enable"),
    ("settings", "put"),
)


#: `cmd SERVICE …` is another way to say these.
_BEHIND_CMD = {"package": "pm", "activity": "am"}


def is_action(argv: tuple[str, ...]) -> bool:
    """Whether this command does something to the phone, rather than look at it."""
    name = argv[0].rpartition("/")[2]
    words = (name, *argv[1:])
    if name == "cmd" and len(argv) > 1:
        words = (_BEHIND_CMD.get(argv[1], argv[1]), *argv[2:])
    return any(words[: len(prefix)] == prefix for prefix in _ACTIONS)
