"""`corral up` as a process, for the tests that need the real thing."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 90.0


class Up:
    """A stack on a folder; `ready` is the ready file's content."""

    def __init__(self, state_dir: Path, *options: str) -> None:
        self.state_dir = state_dir
        self.ready_file = state_dir.with_name(f"{state_dir.name}.ready.json")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "corral", "up", "--state-dir", str(state_dir), "--port", "0"),
                *("--ready-file", str(self.ready_file), *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"XDG_DATA_HOME": str(state_dir)},
        )

    @property
    def ready(self) -> dict[str, Any]:
        return json.loads(self.ready_file.read_text())

    def wait_until_ready(self) -> None:
        until(lambda: self.ready_file.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()[0]

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """Ask it to end, and answer all that it has printed."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=LIMIT_SECONDS)[0]

    def corral(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command line against it."""
        target = {"CORRAL_URL": self.ready["api_url"], "CORRAL_API_KEY": self.ready["api_key"]}
        return subprocess.run(
            [sys.executable, "-m", "corral", *arguments],
            env=os.environ | target,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )


@contextmanager
def new_state_dir() -> Iterator[Path]:
    """A folder beside those of pytest, which every session of pytest makes private: Postgres needs a way in."""
    with tempfile.TemporaryDirectory(prefix="corral-up-") as folder:
        yield Path(folder) / "state"


@contextmanager
def up(state_dir: Path, *options: str) -> Iterator[Up]:
    """A stack that is ready, and gone after the block."""
    stack = Up(state_dir, *options)
    try:
        stack.wait_until_ready()
        yield stack
    finally:
        if stack.process.poll() is None:
            stack.end()
        assert stack.process.stdout is not None
        stack.process.stdout.close()


def family(pid: int) -> list[psutil.Process]:
    """A process and all that descends from it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def until_gone(processes: list[psutil.Process]) -> None:
    """All of them, told apart from later ones that got the same number."""
    until(lambda: not any(process.is_running() and process.status() != "zombie" for process in processes))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)
