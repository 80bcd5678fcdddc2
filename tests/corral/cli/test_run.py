import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from control.jobs.schedule import JobQueue
from corral.cli.exit_codes import ExitCode
from corral.cli.parts import Queue
from corral.stack.state_folder import ReadyInfo, StackFolder, default_state_dir, ready_json, write_private
from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import KEY, TASK_ID, FakeApi, problem, task
from workers.host.life import ExitCode as HostExitCode

ROOT = Path(__file__).parents[3]
COMMANDS = (
    *("up", "demo", "submit", "tasks", "show", "watch", "cancel", "artifacts", "hosts", "devices", "drain"),
    *("keys", "keys create", "keys bootstrap", "api", "jobs", "beat", "bridge", "host", "migrate"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(corral: Corral, command: str) -> None:
    ran = corral(*command.split(), "--help")
    assert ran.code == 0
    assert "Usage: corral" in ran.out


@pytest.mark.parametrize("command", ["", "submit", "keys", "keys create"])
def test_the_help_shows_no_type_for_a_switch(corral: Corral, command: str) -> None:
    shown = corral(*command.split(), "--help").out
    assert "--help" in shown
    assert "<bool>" not in shown


def test_json_before_the_command_is_told_where_it_goes(corral: Corral) -> None:
    ran = corral("--json", "tasks")
    assert (ran.code, ran.problem["code"]) == (2, "usage")
    assert "--json goes after the command" in ran.problem["detail"]


def test_a_closed_stdout_is_told_in_a_line() -> None:
    command = ["sh", "-c", 'exec "$0" -m corral tasks >&-', sys.executable]
    ran = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, timeout=30)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "stdout is closed" in ran.stderr


def test_the_help_names_all_commands_and_exit_codes(corral: Corral) -> None:
    ran = corral("--help")
    for word in {command.split()[0] for command in COMMANDS} | {"phone"}:
        assert word in ran.out
    for code in ExitCode:
        assert f"{int(code)} " in ran.out


def test_the_help_of_a_host_has_its_own_exit_codes(corral: Corral) -> None:
    shown = " ".join(corral("host", "--help").out.split())
    assert [code for code in HostExitCode if f" {int(code)} " not in shown] == []
    assert "the task was cancelled" not in shown


def test_the_reference_has_all_commands_and_exit_codes() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for command in (*COMMANDS, "phone"):
        assert f"corral {command}" in page
    for code in ExitCode:
        assert f"| {int(code)} |" in page


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("show",), ("show", "not-a-uuid"), ("tasks", "--status", "melting"), ("--nope",)]
)
def test_a_command_line_that_cannot_be_understood_is_usage(corral: Corral, arguments: tuple[str, ...]) -> None:
    ran = corral(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    as_json = corral(*arguments, "--json")
    assert as_json.code == 2
    assert as_json.problem["code"] == "usage"


def test_without_an_api_a_command_says_how_to_get_one(corral: Corral) -> None:
    ran = corral("tasks")
    assert ran.code == 2
    assert "corral up" in ran.err


def test_the_stack_that_runs_here_is_the_default(corral: Corral, api: FakeApi) -> None:
    _pretend_that_a_stack_runs(api.url)
    api.answer("GET", "/v1/tasks", (200, {"tasks": [], "next_page_token": None}))
    assert corral("tasks", "--json").code == 0
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_key_of_this_machine_is_not_sent_elsewhere(corral: Corral, api: FakeApi) -> None:
    _pretend_that_a_stack_runs("http://127.0.0.1:1")
    ran = corral("--url", api.url, "tasks")
    assert ran.code == 2
    assert "no key for" in ran.err
    assert api.requests == []


@pytest.mark.parametrize("key", ["schlüssel", "corral_a_b\n"])
def test_what_cannot_be_a_key_is_usage(corral: Corral, key: str) -> None:
    ran = corral("--url", "http://127.0.0.1:1", "--api-key", key, "tasks")
    assert ran.code == 2
    assert "corral_<id>_<secret>" in ran.err


def test_the_command_names_its_version(corral: Corral) -> None:
    ran = corral("--version")
    assert (ran.code, ran.out.split()[0]) == (0, "corral")


def test_a_folder_that_cannot_be_used_is_told_in_words(corral: Corral, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = corral("up", "--state-dir", str(tmp_path / "file"))
    assert ran.code == 1
    assert "give another --state-dir" in ran.err
    assert "Error:" in ran.err


def test_options_win_over_the_environment(of_api: Corral, api: FakeApi) -> None:
    ran = of_api("--api-key", "corral_other_key", "tasks")
    assert ran.code == 4
    assert api.requests[0].headers["authorization"] == "Bearer corral_other_key"


def test_what_the_api_refuses_is_told_on_stderr(of_api: Corral, api: FakeApi) -> None:
    ran = of_api("show", TASK_ID)
    assert (ran.code, ran.out) == (4, "")
    ran = of_api("show", TASK_ID, "--json")
    assert (ran.code, ran.out) == (4, "")
    assert ran.problem["code"] == "route_not_found"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "ftp://x", "http://"])
def test_an_address_where_nothing_answers_is_told_apart_from_none(corral: Corral, url: str) -> None:
    ran = corral("--url", url, "--api-key", KEY, "tasks", "--json")
    assert ran.out == ""
    assert (ran.code, ran.problem["code"]) == ((5, "unreachable") if url.endswith(":1") else (2, "usage"))


def test_an_api_in_trouble_is_unreachable(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", "/v1/hosts", (500, problem("internal_error", 500, "sorry")))
    assert of_api("hosts").code == 5


def test_a_bug_is_told_in_a_line(of_api: Corral, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh [no]")

    monkeypatch.setattr("corral.client.corral.Corral.hosts", fail)
    ran = of_api("hosts")
    assert ran.code == 1
    assert "ZeroDivisionError: oh [no]" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["api", "jobs", "beat", "bridge", "host"])
def test_a_part_without_settings_names_them(corral: Corral, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable in [variable for variable in os.environ if variable.startswith("CORRAL_")]:
        monkeypatch.delenv(variable)
    ran = corral(name)
    assert (ran.code, ran.out) == (2, "")
    assert ("CORRAL_API_URL" if name == "host" else "CORRAL_DATABASE_URL") in ran.err


def test_interrupted_watching_says_that_the_task_goes_on(api: FakeApi) -> None:
    asked = threading.Event()

    def answer(_: object) -> tuple[int, object]:
        asked.set()
        return 200, task("dispatched")

    api.answer("GET", f"/v1/tasks/{TASK_ID}", answer)
    api.answer("GET", f"/v1/tasks/{TASK_ID}/events", (200, {"events": []}))
    environment = os.environ | {"CORRAL_URL": api.url, "CORRAL_API_KEY": KEY}
    command = [sys.executable, "-m", "corral", "watch", TASK_ID]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert asked.wait(30)
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=30)
    assert (watch.returncode, out) == (130, "")
    assert f"corral cancel {TASK_ID}" in err
    assert "Traceback" not in err


def _pretend_that_a_stack_runs(url: str) -> None:
    folder = StackFolder(default_state_dir())
    folder.path.mkdir(parents=True)
    info = ReadyInfo(
        api_url=url, api_key=KEY, join_token="t", database_url="d", redis_url="r", state_dir="s", pids={"up": 1}
    )
    write_private(folder.running_file, ready_json(info))


def test_the_queues_of_the_command_line_are_those_of_the_jobs() -> None:
    assert {queue.value for queue in Queue} == {queue.value for queue in JobQueue}


@pytest.mark.parametrize(("option", "said"), [("--queue=rest", "'rest' is not one of"), ("--name=a b", "the name of")])
def test_jobs_of_a_queue_or_a_name_that_cannot_be_are_usage(corral: Corral, option: str, said: str) -> None:
    ran = corral("jobs", option)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())


def test_a_key_may_stand_in_a_file(
    corral: Corral, api: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    monkeypatch.setenv("CORRAL_API_KEY_FILE", str(file))
    api.answer("GET", "/v1/hosts", (200, {"hosts": []}))
    assert corral("--url", api.url, "hosts").code == 0
    assert api.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    file.unlink()
    ran = corral("--url", api.url, "hosts", "--json")
    assert (ran.code, ran.problem["detail"].split(": ")[0]) == (2, "CORRAL_API_KEY_FILE")
