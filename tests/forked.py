"""Processes of Corral that are forked from one which has imported them: a start costs no imports, which take seconds.

From there on each is a process like any other, with its own environment, session, log and exit code, to be frozen or
killed. What lies before, `python -m corral` on a bare interpreter, is shown by the tests of `corral up`.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import corral.cli

_FORKS = multiprocessing.get_context("forkserver")
# One for each test process, started by the first that needs it.
_FORKS.set_forkserver_preload(["tests.imported"])


class ForkedProcess:
    """Runs a function that can be found by its name; what it returns is the exit code."""

    def __init__(self, run: Callable[..., Any], *arguments: Any, env: Mapping[str, str], log: Path) -> None:
        # Daemonic: those that a test forgets are ended with the test process.
        self._process = _FORKS.Process(target=_begin, args=(run, arguments, dict(env), str(log)), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """As of `subprocess`: negative for a signal."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, limit_seconds: float) -> int:
        self._process.join(limit_seconds)
        assert self.returncode is not None, f"process {self.pid} did not end within {limit_seconds} s"
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9: no goodbye."""
        self.send_signal(signal.SIGKILL)


def run_corral(*arguments: str) -> None:
    """The `corral` command; ends the process."""
    sys.argv = ["corral", *arguments]
    corral.cli.main()


def _begin(run: Callable[..., Any], arguments: tuple[Any, ...], env: dict[str, str], log: str) -> None:
    os.setsid()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    sys.exit(run(*arguments))
