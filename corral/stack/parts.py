"""What a supervisor runs: something that can be started, dies, can be started again, and is ended at last."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from corral.stack.process import signal_group, spawn

_POLL_SECONDS = 0.02


class Part(Protocol):
    """One program of the stack."""

    @property
    def name(self) -> str: ...

    @property
    def process(self) -> subprocess.Popen[bytes] | None: ...

    @property
    def ends_with(self) -> signal.Signals:
        """The signal that asks it to end in order."""
        ...

    def start(self) -> None:
        """Start it, or start it again."""
        ...


class CorralPart:
    """`python -m corral <command>` as a process of its own, with its settings in its environment.

    `started_with` is what it logs once it has started, for parts that nobody can ask.
    """

    ends_with = signal.SIGTERM

    def __init__(
        self, name: str, *command: str, env: Mapping[str, str], log_file: Path, started_with: bytes = b""
    ) -> None:
        self.name = name
        self.log_file = log_file
        self._started_with = started_with
        self._log_begins_at = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._command = (sys.executable, "-m", "corral", *command)
        self._env = env

    def start(self) -> None:
        self._log_begins_at = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.process = spawn(
            self._command,
            log_file=self.log_file,
            # Killed, not asked: without us there is no order in which the parts could end well. What they promise
            # holds for a crash, too.
            dies_with=signal.SIGKILL,
            env=self._env,
        )

    def has_started(self) -> bool:
        """Whether this life has logged that it started."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_begins_at)
            return self._started_with in log.read()


def is_running(part: Part) -> bool:
    return part.process is not None and part.process.poll() is None


def end(parts: list[Part], *, limit_seconds: float, should_hurry: Callable[[], bool] = lambda: False) -> None:
    """Ask all of them to end, and kill what is still there at the limit, with everything in its process group."""
    running = [part.process for part in parts if part.process is not None]
    for part in parts:
        if part.process is not None and part.process.poll() is None:
            part.process.send_signal(part.ends_with)
    deadline = time.monotonic() + limit_seconds
    while any(process.poll() is None for process in running) and time.monotonic() < deadline and not should_hurry():
        time.sleep(_POLL_SECONDS)
    for process in running:
        signal_group(process, signal.SIGKILL)
        process.wait()
