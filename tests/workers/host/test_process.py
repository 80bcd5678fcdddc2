"""A host as a process of its own: signals, crashes, restarts, and a second one on the same folder."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.forked import ForkedProcess
from tests.workers.host.far_side import FarSide, until
from tests.workers.host.host_process import run_host

pytestmark = pytest.mark.anyio


class Processes:
    """Starts hosts on one state folder, and ends those that a test leaves behind."""

    def __init__(self, far_side: FarSide, state_dir: Path) -> None:
        self.far_side = far_side
        self.state_dir = state_dir
        self.log = state_dir.with_suffix(".log")
        self._started: list[ForkedProcess] = []

    def start(self, work: str = "never", *, failpoints: str = "") -> ForkedProcess:
        env = os.environ | {
            "CORRAL_API_URL": self.far_side.url,
            "CORRAL_JOIN_TOKEN": "join",
            "CORRAL_HOST_STATE_DIR": str(self.state_dir),
            "CORRAL_FAILPOINTS": failpoints,
        }
        self._started.append(ForkedProcess(run_host, work, env=env, log=self.log))
        return self._started[-1]

    def end_all(self) -> None:
        for process in self._started:
            process.kill()
            process.wait(10)


@pytest.fixture
def processes(far_side, tmp_path):
    processes = Processes(far_side, tmp_path / "state")
    yield processes
    processes.end_all()


async def ended(process: ForkedProcess) -> int | None:
    await until(lambda: process.poll() is not None)
    return process.returncode


async def begun(far_side: FarSide, task_id: str) -> None:
    """The task runs: a renewal has carried its progress."""
    await until(lambda: far_side.steps_told(task_id) - {0})
    assert far_side.lease_of(task_id)


async def test_sigterm_drains_and_a_second_one_stops(processes, far_side):
    far_side.renews_together = False  # for the sake of many renewals in a short time
    process = processes.start()
    task_id = far_side.submit()
    await begun(far_side, task_id)
    process.send_signal(signal.SIGTERM)
    await until(lambda: far_side.made("heartbeat")[-1].body["draining"])
    renewals = len(far_side.made("renew"))
    await until(lambda: len(far_side.made("renew")) > renewals + 2)
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == 0
    report = far_side.lease_of(task_id).result
    assert (report["status"], report["cause"]) == ("failed", "infrastructure")


async def test_a_second_process_on_the_same_folder_is_refused_and_the_first_goes_on(processes, far_side):
    first = processes.start()
    await until(lambda: far_side.made("claim"))
    second = processes.start()
    assert await ended(second) == 3
    said = processes.log.read_text()
    assert str(processes.state_dir) in said
    assert f"process {first.pid}" in said
    first.send_signal(signal.SIGINT)
    assert await ended(first) == 0


@pytest.mark.parametrize("where", ["result.spooled", "result.acknowledged"])
async def test_a_report_survives_a_crash_and_is_recorded_once(processes, far_side, where):
    task_id = far_side.submit()
    assert await ended(processes.start("at_once", failpoints=f"{where}=exit")) == 137
    [spooled] = (processes.state_dir / "spool").glob("*.json")
    assert json.loads(spooled.read_text())["task_id"] == task_id
    processes.start()
    await until(lambda: len(far_side.incarnations) == 2)
    assert far_side.lease_of(task_id).result["status"] == "done"
    assert not spooled.exists()
    assert len(far_side.made("register")) == 1
    results = [index for index, call in enumerate(far_side.calls) if call.route == "result"]
    assert far_side.calls[results[-1] + 1].body["incarnation"] == far_side.incarnations[1]


async def test_a_crash_before_the_report_leaves_the_lease_to_the_next_life(processes, far_side):
    task_id = far_side.submit()
    assert await ended(processes.start("at_once", failpoints="run.finished=exit")) == 137
    processes.start()
    await until(lambda: len(far_side.incarnations) == 2 and len(far_side.made("claim")) > 1)
    assert far_side.lease_of(task_id).is_ended
    assert far_side.made("result") == []
