"""What a supervisor runs: something that can be started, dies, can be started again, and is ended at last."""

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
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
    """`python -m corral <command>` as a process of its own, with its settings in its environment."""

    ends_with = signal.SIGTERM

    def __init__(self, name: str, *command: str, env: Mapping[str, str], log_file: Path) -> None:
        self.name = name
        self.log_file = log_file
        self.process: subprocess.Popen[bytes] | None = None
        self._command = (sys.executable, "-m", "corral", *command)
        self._env = env

    def start(self) -> None:
        self.process = spawn(
            self._command,
            log_file=self.log_file,
            # Killed, not asked: without us there is no order in which the parts could end well. What they promise
            # holds for a crash, too.
            dies_with=signal.SIGKILL,
            env=self._env,
        )


def is_running(part: Part) -> bool:
    return part.process is not None and part.process.poll() is None


def end(parts: list[Part], *, limit_seconds: float) -> None:
    """Ask all of them to end, and kill what is still there at the limit, with everything in its process group."""
    running = [part.process for part in parts if part.process is not None]
    for part in parts:
        if part.process is not None and part.process.poll() is None:
            part.process.send_signal(part.ends_with)
    deadline = time.monotonic() + limit_seconds
    while any(process.poll() is None for process in running) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    for process in running:
        signal_group(process, signal.SIGKILL)
        process.wait()
