"""The whole stack with a host and a phone: started once, for it costs seconds, and looked at from all sides."""

import json
import os
import signal
import stat
import subprocess
import sys

import psutil
import pytest

from corral.client import Corral
from tests.corral.stack.up import ROOT, Up, new_state_dir, until, up


@pytest.mark.timeout(240)
def test_a_stack_says_how_to_reach_it_runs_flows_is_alone_on_its_folder_and_mends_itself() -> None:
    with new_state_dir() as state_dir, up(state_dir, "--phones", "1", "--lease-seconds", "6") as stack:
        the_ready_file_says_how_to_reach_what_runs(stack)
        a_flow_is_submitted_and_watched_from_the_command_line(stack)
        another_up_on_the_same_folder_is_refused_with_the_first_ones_process(stack)
        a_part_that_was_killed_is_started_again(stack)


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


def a_flow_is_submitted_and_watched_from_the_command_line(stack: Up) -> None:
    ran = stack.corral("submit", str(ROOT / "examples" / "write_a_note.yaml"), "--wait", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["status"] == "done"


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
