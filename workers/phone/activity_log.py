"""What was asked of a phone, when, and how it ended: the evidence for "nothing was done after the stop"."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workers.phone.clock import wall_seconds


@dataclass(slots=True)
class LogEntry:
    """One command or file request.

    `started_at` and `ended_at` are seconds since the epoch; `ended_at` and `exit_code` are None while it runs,
    `exit_code` also when it never ended by itself (cut, hung) and for file requests.
    """

    serial: str
    service: str
    command: str
    is_action: bool
    started_at: float
    ended_at: float | None = None
    exit_code: int | None = None


@dataclass(slots=True)
class ActivityLog:
    """In memory, and as lines of JSON in `file` (written when an entry ends, in the order of the ends)."""

    serial: str
    file: Path | None = None
    entries: list[LogEntry] = field(default_factory=list[LogEntry])

    @property
    def actions(self) -> list[LogEntry]:
        return [entry for entry in self.entries if entry.is_action]

    def commands(self) -> list[str]:
        """The commands alone, in the order they were started."""
        return [entry.command for entry in self.entries]

    @contextmanager
    def recording(self, *, service: str, command: str, is_action: bool) -> Generator[LogEntry]:
        """Record what happens inside the block; it ends there even if it is cut."""
        entry = LogEntry(self.serial, service, command, is_action, wall_seconds())
        self.entries.append(entry)
        try:
            yield entry
        finally:
            entry.ended_at = wall_seconds()
            if self.file is not None:
                with self.file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(entry)) + "\n")
