import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from corral.stack import supervisor as supervisor_module
from corral.stack.process import spawn
from corral.stack.stop_request import StopAsked, StopRequest
from corral.stack.supervisor import StartFailed, Supervisor
from tests.corral.stack.up import until

#: Appends its name to a file when it is asked to end.
POLITE = """
import pathlib, signal, sys, time
def end(*_):
    with open(sys.argv[2], "a") as ended:
        ended.write(sys.argv[1] + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path(sys.argv[2] + "." + sys.argv[1]).touch()
time.sleep(60)
"""
#: Does not hear SIGTERM, and has a child that does not either.
DEAF = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
pathlib.Path(sys.argv[2] + "." + sys.argv[1]).write_text(str(child.pid))
time.sleep(60)
"""
SHORT = "import sys; sys.exit(3)"


class ScriptPart:
    ends_with = signal.SIGTERM

    def __init__(self, name: str, script: str, folder: Path) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.ended_file = folder / "ended"
        self._command = [sys.executable, "-I", "-S", "-c", script, name, str(self.ended_file)]
        self._log_file = folder / f"{name}.log"

    @property
    def mark(self) -> Path:
        return self.ended_file.with_name(f"ended.{self.name}")

    def start(self) -> None:
        self.mark.unlink(missing_ok=True)
        self.process = spawn(self._command, log_file=self._log_file, dies_with=signal.SIGKILL)


class Told:
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.changes = 0

    def change(self) -> None:
        self.changes += 1


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def stop_request() -> StopRequest:
    return StopRequest()


@pytest.fixture
def supervisor(told: Told, stop_request: StopRequest) -> Iterator[Supervisor]:
    supervisor = Supervisor(stop_request=stop_request, announce=told.sentences.append, on_change=told.change)
    yield supervisor
    supervisor.stop()


def running(supervisor: Supervisor, *parts: ScriptPart) -> None:
    supervisor.wait_until(lambda: all(part.mark.exists() for part in parts), what="the parts", limit_seconds=20)


def test_parts_end_in_the_reverse_order_of_their_start(supervisor: Supervisor, tmp_path: Path) -> None:
    parts = [ScriptPart(name, POLITE, tmp_path) for name in ("database", "api", "host")]
    for part in parts:
        supervisor.start(part, stop_limit_seconds=20)
    running(supervisor, *parts)
    assert supervisor.pids.keys() == {"database", "api", "host"}
    supervisor.stop()
    assert parts[0].ended_file.read_text().split() == ["host", "api", "database"]
    assert supervisor.pids == {}


def test_what_does_not_hear_is_killed_with_all_that_it_started(supervisor: Supervisor, tmp_path: Path) -> None:
    part = ScriptPart("deaf", DEAF, tmp_path)
    supervisor.start(part, stop_limit_seconds=0.2)
    supervisor.wait_until(lambda: part.mark.exists() and part.mark.read_text() != "", what="the part", limit_seconds=20)
    child = int(part.mark.read_text())
    supervisor.stop()
    assert part.process is not None
    assert part.process.returncode == -signal.SIGKILL
    until(lambda: _has_ended(child))


def test_a_second_request_does_not_wait(supervisor: Supervisor, stop_request: StopRequest, tmp_path: Path) -> None:
    part = ScriptPart("deaf", DEAF, tmp_path)
    supervisor.start(part, stop_limit_seconds=60)
    running(supervisor, part)
    stop_request.ask()
    stop_request.ask()
    begun = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - begun < 20


def test_what_dies_is_started_again(supervisor: Supervisor, told: Told, tmp_path: Path) -> None:
    part = ScriptPart("api", POLITE, tmp_path)
    supervisor.start(part, stop_limit_seconds=20)
    running(supervisor, part)
    former = supervisor.pids["api"]
    part.mark.unlink()
    os.kill(former, signal.SIGKILL)
    running(supervisor, part)
    assert supervisor.pids["api"] != former
    assert told.sentences == ["api ended (SIGKILL); it is started again in 0.2 s"]
    assert told.changes == 1


def test_a_part_that_cannot_live_ends_the_start(
    supervisor: Supervisor, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "RESTART_PAUSES_SECONDS", (0.01, 0.02))
    supervisor.start(ScriptPart("api", SHORT, tmp_path), stop_limit_seconds=20)
    with pytest.raises(StartFailed, match="api ends again and again"):
        supervisor.wait_until(lambda: False, what="the stack", limit_seconds=60)
    pauses = [sentence.rpartition(" in ")[2] for sentence in told.sentences]
    assert pauses == ["0.01 s", "0.02 s", "0.02 s", "0.02 s"]
    assert all("exit code 3" in sentence for sentence in told.sentences)


def test_what_is_not_ready_in_time_is_named(supervisor: Supervisor) -> None:
    with pytest.raises(StartFailed, match=r"the phones did not get ready within 0\.01 s"):
        supervisor.wait_until(lambda: False, what="the phones", limit_seconds=0.01)


def test_a_stop_is_heard_while_something_is_awaited(supervisor: Supervisor, stop_request: StopRequest) -> None:
    stop_request.ask()
    with pytest.raises(StopAsked):
        supervisor.wait_until(lambda: False, what="the phones", limit_seconds=60)


def test_a_signal_asks_and_its_former_meaning_comes_back(stop_request: StopRequest) -> None:
    former = signal.getsignal(signal.SIGTERM)
    with stop_request.from_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: stop_request.is_asked)
        assert not stop_request.is_urgent
    assert signal.getsignal(signal.SIGTERM) is former


def _has_ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
