"""The whole stack with a host and a phone, and another on what it left: each start costs seconds, so all in one."""

import json
import os
import signal
import stat
import subprocess
import sys
from typing import Any

import psutil
import pytest

from corral.client import Corral
from corral.stack.state_folder import StackFolder
from tests.corral.stack.up import ROOT, Up, family, new_state_dir, until, until_gone, up


@pytest.mark.timeout(240)
def test_a_stack_runs_flows_mends_itself_leaves_nothing_running_and_goes_on_with_its_data() -> None:
    with new_state_dir() as state_dir:
        with up(state_dir, "--phones", "1", "--lease-seconds", "6") as stack:
            before = stack.ready
            the_ready_file_says_how_to_reach_what_runs(stack)
            task_id = a_flow_is_submitted_and_watched_from_the_command_line(stack)
            another_up_on_the_same_folder_is_refused_with_the_first_ones_process(stack)
            a_part_that_was_killed_is_started_again(stack)
            ctrl_c_ends_all_that_runs(stack)
        # Without hosts, which would cost time.
        with up(state_dir, "--hosts", "0", "--phones", "0") as second:
            it_goes_on_with_the_same_data(second, before, task_id)
            nothing_outlives_an_up_that_was_killed(second)


def the_ready_file_says_how_to_reach_what_runs(stack: Up) -> None:
    ready = stack.ready
    assert ready["state_dir"] == str(stack.state_dir)
    assert set(ready) == {"api_url", "api_key", "join_token", "database_url", "redis_url", "state_dir", "pids"}
    assert set(ready["pids"]) == {"up", "postgres", "valkey", "api", "jobs", "beat", "phones-1", "host-1"}
    assert all(psutil.pid_exists(pid) for pid in ready["pids"].values())
    assert stat.S_IMODE(stack.ready_file.stat().st_mode) == 0o600
    with Corral(ready["api_url"], ready["api_key"]) as corral:
        assert [host.name for host in corral.hosts() if host.is_online] == ["host-1"]
        assert [device.state for device in corral.devices() if device.is_online] == ["ready"]


def a_flow_is_submitted_and_watched_from_the_command_line(stack: Up) -> str:
    ran = stack.corral("submit", str(ROOT / "examples" / "write_a_note.yaml"), "--wait", "--json")
    assert ran.returncode == 0, ran.stderr
    task = json.loads(ran.stdout)
    assert task["status"] == "done"
    return task["task_id"]


def another_up_on_the_same_folder_is_refused_with_the_first_ones_process(stack: Up) -> None:
    command = [sys.executable, "-m", "corral", "up", "--state-dir", str(stack.state_dir), "--port", "0"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 1
    assert str(stack.process.pid) in ran.stderr
    assert stack.process.poll() is None


def a_part_that_was_killed_is_started_again(stack: Up) -> None:
    former = stack.ready["pids"]["api"]
    os.kill(former, signal.SIGKILL)
    until(lambda: stack.ready["pids"].get("api", former) != former)
    with Corral(stack.ready["api_url"], stack.ready["api_key"]) as corral:
        until(corral.is_ready)
        assert corral.hosts()


def ctrl_c_ends_all_that_runs(stack: Up) -> None:
    assert StackFolder(stack.state_dir).running() is not None
    processes, api_url = family(stack.process.pid), stack.ready["api_url"]
    printed = stack.end(signal.SIGINT)
    assert stack.process.returncode == 0, printed
    assert api_url in printed
    until_gone(processes)
    assert StackFolder(stack.state_dir).running() is None


def it_goes_on_with_the_same_data(stack: Up, before: dict[str, Any], task_id: str) -> None:
    unchanging = ("api_url", "api_key", "join_token", "database_url", "redis_url")
    assert [stack.ready[name] for name in unchanging] == [before[name] for name in unchanging]
    with Corral(stack.ready["api_url"], stack.ready["api_key"]) as corral:
        assert [str(view.task_id) for view in corral.list()] == [task_id]


def nothing_outlives_an_up_that_was_killed(stack: Up) -> None:
    processes = family(stack.process.pid)
    stack.process.kill()
    stack.process.wait()
    until_gone(processes)
