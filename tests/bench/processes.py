"""Processes that are measured: started with our life, ended by their id, and asked in /proc what they have used."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corral.stack.process import end_of, spawn

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_LIMIT_SECONDS = 30.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Program:
    """A Python program of ours as a child process."""

    name: str
    arguments: tuple[str, ...]
    log_file: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} was not started"
        return self.process.pid

    def start(self, **more: str) -> None:
        self.process = spawn(
            [sys.executable, "-m", *self.arguments],
            log_file=self.log_file,
            dies_with=signal.SIGTERM,
            env={**os.environ, "NO_COLOR": "1", **self.env, **more},
        )

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Return once it does what it was started for."""
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while not holds():
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not come up: {end_of(self.log_file)}")
            time.sleep(0.01)

    def has_said(self, words: str) -> bool:
        return words in self.log_file.read_text(errors="replace")


def family_cpu_seconds(pid: int) -> float:
    """What a process has used with all its children, those that have ended too."""
    own = sum(int(one) for one in _stat(pid)[11:15])
    living = sum(int(one) for child in children(pid) for one in _stat(child)[11:13])
    return (own + living) / TICKS_PER_SECOND


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the third on: the second may have spaces in it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return ["0"] * 50  # It ended just now, and its parent has its time.
