"""Somebody who has Celery and the address of Redis runs tasks on phones, and hears how they went."""

import json
import os
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from control.domain.errors import StaleLease
from control.jobs.plane import open_plane
from control.operations.plane import Plane, Timing
from control.operations.tasks import TaskFilters, list_tasks
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import Progress
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.conftest import cloned_database
from tests.control.fleet import FLOW, Fleet, Host
from tests.control.working import forget_closed_pools
from tests.forked import ForkedProcess, run_corral
from tests.journeys.lab import eventually

ROOT = Path(__file__).parents[2]
#: What `pip install "celery[redis]"` brings.
CELERY_AND_ITS_NEEDS = (
    *("amqp", "billiard", "celery", "click", "click_didyoumean", "click_plugins", "click_repl", "dateutil", "hiredis"),
    *("kombu", "packaging", "prompt_toolkit", "redis", "six", "tzlocal", "typing_extensions", "vine", "wcwidth"),
)


@dataclass
class Robot:
    """A host with three phones. What a task is called says how its run goes."""

    host: Host
    fleet: Fleet
    is_to_stop: threading.Event = field(default_factory=threading.Event)
    has_counted: bool = False

    def work(self) -> None:
        waiting: list[Assignment] = []
        while not self.is_to_stop.wait(0.02):
            for assignment in self.host.claim_several():
                match assignment.name:
                    case "waits":
                        waiting.append(assignment)
                    # The example lets the first one come to its end, and cancels the next.
                    case "Count to 300" if self.has_counted:
                        waiting.append(assignment)
                    case "bad" | "Look for a unicorn":
                        self.host.report(assignment, "failed", failure_reason="no such element")
                    case name:
                        self.has_counted |= name == "Count to 300"
                        self.host.report(assignment, "done", result={"name": name})
            waiting = [one for one in waiting if self._is_to_go_on(one)]

    def _is_to_go_on(self, assignment: Assignment) -> bool:
        try:
            is_cancelled = self.host.renew(assignment, progress=Progress(step=1, steps_total=2, text="launchApp"))
        except StaleLease:
            return False
        if is_cancelled:
            self.host.report(assignment, "cancelled", stopped_by="step_boundary")
        return not is_cancelled


@dataclass
class Cluster:
    """Jobs and a bridge, each a process of its own."""

    plane: Plane
    redis_url: str
    env: dict[str, str]
    log: Path
    processes: list[ForkedProcess] = field(default_factory=list)

    def start(self, part: str, **more: str) -> ForkedProcess:
        self.processes.append(ForkedProcess(run_corral, part, env={**self.env, **more}, log=self.log))
        return self.processes[-1]

    def names(self) -> list[str | None]:
        tasks = list_tasks(self.plane, TaskFilters(), page_token=None, limit=200).tasks
        return [task.name for task in tasks]


@pytest.fixture(scope="module")
def cluster(
    postgres: EmbeddedPostgres, valkey: EmbeddedValkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    redis_url = f"{valkey.url.rpartition('/')[0]}/3"
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    with cloned_database(postgres) as database_url:
        plane = open_plane(
            database_url=database_url,
            redis_url=redis_url,
            artifacts_folder=folder,
            timing=Timing(),
            pool_size=2,
            application_name="robot",
        )
        env = {
            **os.environ,
            "CORRAL_DATABASE_URL": database_url,
            "CORRAL_REDIS_URL": redis_url,
            "CORRAL_ARTIFACTS_DIR": str(folder),
        }
        cluster = Cluster(plane, redis_url, env, folder / "log")
        yield cluster
        for process in cluster.processes:
            process.kill()
            process.wait(10)
        plane.database.close()
        sys.stdout.write(cluster.log.read_text())  # shown by pytest where a test fails


@pytest.fixture(scope="module")
def opened(cluster: Cluster) -> Iterator[Cluster]:
    """The front door is open, a bridge answers, and a host works."""
    door = {"CORRAL_CELERY_SUBMITTER": "robots"}
    cluster.start("jobs", **door)
    cluster.start("bridge", **door)
    fleet = Fleet(cluster.plane)
    robot = Robot(fleet.host("PHONE1", "PHONE2", "PHONE3"), fleet)
    thread = threading.Thread(target=robot.work)
    thread.start()
    yield cluster
    robot.is_to_stop.set()
    thread.join(10)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that knows Celery, and nothing of Corral."""
    folder = tmp_path_factory.mktemp("client") / "venv"
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = Path(sysconfig.get_path("purelib"))
    for name in CELERY_AND_ITS_NEEDS:
        for entry in (*installed.glob(name), *installed.glob(f"{name}.py"), *installed.glob(f"{name}-*.dist-info")):
            (packages / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def run(python: Path, script: Path, url: str) -> str:
    """What a script says. Its interpreter takes no path and no settings from ours."""
    ran = subprocess.run([python, "-I", script, url], capture_output=True, text=True, timeout=40, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_closed_front_door_leaves_messages_where_they_are(cluster: Cluster):
    jobs = cluster.start("jobs")
    with Celery(broker=cluster.redis_url, set_as_current=False) as app:
        app.send_task("corral.run", kwargs={"flow": FLOW, "name": "early"}, ignore_result=True)
        eventually(lambda: bool(app.control.ping(timeout=0.3)), what="a worker answers")
        app.pool.force_close_all()
        forget_closed_pools()
    with redis.Redis.from_url(cluster.redis_url) as client:
        assert client.llen("celery") == 1
    assert cluster.names() == []
    jobs.kill()


def test_a_client_without_corral_runs_tasks_and_hears_of_each_end(opened: Cluster, python: Path):
    said: dict[str, Any] = json.loads(run(python, ROOT / "tests/journeys/celery_client.py", opened.redis_url))
    assert said.pop("twice") == [[{"name": "once"}, "SUCCESS"]] * 2
    assert (opened.names().count("once"), opened.names().count("again")) == (1, 0)
    assert opened.names().count("early") == 1, "what came to the closed door is taken in once it is open"
    progress, (error, words, state) = said.pop("cancelled")
    assert progress == {"step": 1, "steps_total": 2, "text": "launchApp"}
    # By the bridge or by the worker, whichever heard it first.
    assert (error, words.split(":")[0], state) == ("TaskRevokedError", "cancelled by celery", "REVOKED")
    assert said.pop("eta")[1].startswith("eta: a task cannot wait")
    assert said.pop("wrong")[1].startswith("kwargs.flw: there is no such field")
    assert said == {
        "corral": False,
        "success": [{"name": "good"}, "SUCCESS"],
        "failure": ["DeviceTaskFailed", "no such element", "FAILURE"],
        "chain": [{"name": "three"}, "SUCCESS"],
        "chain that breaks": ["DeviceTaskFailed", "no such element", "FAILURE"],
        "link": [{"name": "follows"}, "SUCCESS"],
        "link_error": [{"name": "follows"}, "SUCCESS"],
        "group": [{"name": "a"}, {"name": "b"}],
        "chord": [{"name": "body"}, "SUCCESS"],
        "chord that breaks": ["DeviceTaskFailed", "no such element"],
        "expired": ["TaskRevokedError", "expired", "REVOKED"],
    }


def test_the_example_runs(opened: Cluster, python: Path):
    said = run(python, ROOT / "examples/celery_client.py", opened.redis_url)
    assert "SUCCESS: {'name': 'Count to 300'}" in said
    assert "revoked: cancelled by celery:" in said
    assert "DeviceTaskFailed: no such element" in said
    assert "{'name': 'after both'}" in said
