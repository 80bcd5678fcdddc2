"""Phones in a process of their own."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from tests.workers.phone.conftest import APPS_FOR_TESTS, until
from workers.phone.__main__ import main


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "workers.phone", *words]


def test_phones_are_served_announced_logged_and_end_when_told(adb, tmp_path):
    ready, logs = tmp_path / "ready.json", tmp_path / "logs"
    words = command("--count", "2", "--app", str(APPS_FOR_TESTS), "--ready-file", str(ready), "--log-dir", str(logs))
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        until(ready.exists)
        facts = json.loads(ready.read_text())
        assert facts["pid"] == process.pid
        assert [phone["serial"] for phone in facts["phones"]] == ["CORRAL0001", "CORRAL0002"]
        second = facts["phones"][1]["address"]
        adb.run("connect", second)
        until(lambda: adb.state(second) == "device")
        adb.run("shell", "am start -n com.example.example/.MainActivity", serial=second)
        adb.run("shell", "corral-fault add exit_code --match wm* --exit-code 7", serial=second)
        assert adb.run("shell", "wm size", serial=second).returncode == 7
        adb.run("disconnect", second)
    finally:
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=10)
    assert process.returncode == 0
    assert [line.split()[:2] for line in printed.splitlines()] == [
        [phone["serial"], phone["address"]] for phone in facts["phones"]
    ]
    entries = [json.loads(line) for line in (logs / "CORRAL0002.jsonl").read_text().splitlines()]
    assert [(entry["command"], entry["is_action"], entry["exit_code"]) for entry in entries] == [
        ("am start -n com.example.example/.MainActivity", True, 0),
        ("corral-fault add exit_code --match wm* --exit-code 7", False, 0),
        ("wm size", False, 7),
    ]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--count", "0"), "0 phones: between 1 and 500 are possible"),
        (("--base-port", "80"), "must lie in 1024 to 65535"),
        (("--base-port", "65535", "--count", "2"), "must lie in 1024 to 65535"),
        (("--app", "none.yaml"), "none.yaml: "),
        (("--listen", "203.0.113.1"), "cannot listen: "),
    ],
)
def test_what_makes_no_sense_is_refused(words, fault, capsys):
    assert main(words) == 2
    assert fault in capsys.readouterr().err


def test_a_taken_port_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = command("--base-port", str(taken.getsockname()[1]))
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert "cannot listen" in ended.stderr
