"""The whole of Corral as processes that a test may kill: API, jobs, beat, hosts, and phones that keep a log."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from corral.client import Corral
from corral.contract.fleet import ApiKeyRequest, Scope
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail, TaskSubmission
from corral.stack.plane import create_first_key
from corral.stack.ports import LOOPBACK, free_port
from corral.stack.process import spawn
from tests.forked import ForkedProcess, run_corral
from workers.phone.phone import Phone

LEASE_SECONDS = 6.0
#: Whoever looks more often takes the time of the processes that are looked at.
POLL_SECONDS = 0.1
JOIN_TOKEN = "a-token-for-the-laboratory"
PACE = {
    "CORRAL_LEASE_SECONDS": str(LEASE_SECONDS),
    "CORRAL_LONGEST_ACTION_SECONDS": "1",
    "CORRAL_HEARTBEAT_SECONDS": "1",
    "CORRAL_HOST_SILENCE_SECONDS": "5",
    "CORRAL_CLAIM_LIMIT_SECONDS": "10",
}

#: Counts for ever, a tap at a time: a run that ends only when it is stopped.
ENDLESS = """
appId: dev.corral.notes
name: Count
---
- launchApp
- tapOn: Counter
- repeat:
    times: 2000
    commands:
      - tapOn: More
"""
SHORT = """
appId: dev.corral.notes
name: Look
---
- launchApp
- assertVisible: New note
"""


@dataclass
class Program:
    """One process of the laboratory."""

    name: str
    arguments: tuple[str, ...]
    env: dict[str, str]
    log: Path
    #: Where the code lies that it runs; ours, where nothing is said.
    code: Path | None = None
    process: "ForkedProcess | subprocess.Popen[bytes] | None" = None

    def start(self, **more: str) -> None:
        env = {**os.environ, "NO_COLOR": "1", **self.env, **more}
        if self.code is None:
            self.process = ForkedProcess(run_corral, *self.arguments, env=env, log=self.log)
        else:
            self.process = spawn(
                [sys.executable, "-m", "corral", *self.arguments],
                log_file=self.log,
                dies_with=signal.SIGKILL,
                env={**env, "PYTHONPATH": str(self.code)},
                cwd=self.code,
            )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """kill -9: no goodbye."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(20)

    def stop(self) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)

    def wait(self, limit_seconds: float = 30) -> int:
        assert self.process is not None
        return self.process.wait(limit_seconds)


@dataclass
class Lab:
    folder: Path
    database_url: str
    redis_url: str
    corral: Corral = field(init=False)
    programs: dict[str, Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        key = create_first_key(self.database_url, ApiKeyRequest(name="lab", scopes=list(Scope)))
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.api_key = key.api_key
        self.corral = Corral(self.url, key.api_key)
        env = {
            "CORRAL_DATABASE_URL": self.database_url,
            "CORRAL_REDIS_URL": self.redis_url,
            "CORRAL_JOIN_TOKEN": JOIN_TOKEN,
            "CORRAL_ARTIFACTS_DIR": str(self.folder / "artifacts"),
            "CORRAL_PORT": str(self.port),
            **PACE,
        }
        for name in ("api", "jobs", "beat"):
            self._program(name, name, env=env)

    def program(self, name: str) -> Program:
        return self.programs[name]

    def start_control_plane(self) -> None:
        for name in ("jobs", "beat"):
            self.program(name).start()
        self.start_api()

    def start_api(self, **more: str) -> None:
        self.program("api").start(**more)
        eventually(self.corral.is_ready, what="the API")

    def add_host(self, name: str, addresses: list[str]) -> Program:
        env = {
            "CORRAL_API_URL": self.url,
            "CORRAL_JOIN_TOKEN": JOIN_TOKEN,
            "CORRAL_HOST_NAME": name,
            "CORRAL_HOST_STATE_DIR": str(self.folder / name),
            "CORRAL_HOST_ADB_CONNECT": ",".join(addresses),
            # An adb server that looks for phones on USB needs three seconds longer to start.
            "CORRAL_HOST_ADB_FINDS_USB": "false",
            "CORRAL_HOST_ADB_FINDS_EMULATORS": "false",
            "CORRAL_HOST_DRAIN_LIMIT_SECONDS": "2",
            "CORRAL_HOST_LOG_FORMAT": "json",
        }
        return self._program(name, "host", env=env)

    def wait_for_devices(self, host: str, count: int) -> None:
        def are_ready() -> bool:
            return sum(device.is_online and device.host_name == host for device in self.corral.devices()) >= count

        eventually(are_ready, what=f"{count} devices of {host}")

    def submit(self, flow: str, *, host: str, **more: Any) -> UUID:
        requires = [{"label": "host", "value": host}]
        submission = {"kind": "flow", "flow": flow, "requires": requires, **more}
        return self.corral.submit_task(TaskSubmission.model_validate(submission)).task_id

    def until(self, task_id: UUID, status: TaskStatus, *, limit_seconds: float = 30) -> TaskDetail:
        eventually(
            lambda: self.corral.get(task_id).status is status,
            what=f"{task_id} {status}",
            limit_seconds=limit_seconds,
            tell=lambda: str(self.corral.get(task_id)),
        )
        return self.corral.get(task_id)

    def until_step(self, task_id: UUID, step: int) -> None:
        """Running, and at least at that step."""

        def is_there() -> bool:
            progress = self.corral.get(task_id).progress
            return progress is not None and progress.step >= step

        eventually(is_there, what=f"{task_id} at step {step}")

    def ended(self, task_id: UUID, *, limit_seconds: float = 40) -> TaskDetail:
        return self.corral.wait(task_id, timeout_seconds=limit_seconds)

    def kinds(self, task_id: UUID) -> list[str]:
        return [event.kind.value.removeprefix("task.") for event in self.corral.events(task_id)]

    def rows(self, sql: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(sql, parameters).fetchall()

    def extend_lease(self, task_id: UUID, *, seconds: int) -> None:
        """Put off the end of the task's lease, if it has one: for a process that takes long to start."""
        with psycopg.connect(self.database_url) as connection:
            connection.execute(
                "UPDATE leases SET expires_at = expires_at + make_interval(secs => %s) WHERE task_id = %s",
                (seconds, task_id),
            )

    def stop(self) -> None:
        for name in reversed(self.programs):
            self.programs[name].stop()
        self.corral.close()

    def _program(self, name: str, *arguments: str, env: dict[str, str]) -> Program:
        self.programs[name] = Program(name, arguments, env, self.folder / f"{name}.log")
        return self.programs[name]


@contextmanager
def laboratory(folder: Path, *, database_url: str, redis_url: str) -> Iterator[Lab]:
    """A running control plane; hosts are added by the test. Everything ends with the block."""
    lab = Lab(folder, database_url, redis_url)
    try:
        lab.start_control_plane()
        yield lab
    finally:
        lab.stop()


def eventually(
    holds: Callable[[], bool], *, what: str, limit_seconds: float = 30, tell: Callable[[], str] = lambda: ""
) -> None:
    """Wait for a fact that a process elsewhere brings about."""
    deadline = time.monotonic() + limit_seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {limit_seconds} s {tell()}"
        time.sleep(POLL_SECONDS)


def actions_after(phones: list[Phone], moment: float) -> list[str]:
    """What was done to phones after an instant, by their own logs."""
    return [entry.command for phone in phones for entry in phone.log.actions if entry.started_at > moment]
