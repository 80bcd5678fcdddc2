"""`make compose-test`: builds and starts the cluster of compose.yaml, works with it from outside, and kills its parts.

Needs a Docker engine. Takes about ten minutes the first time, for the image; everything is gone afterwards.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx

from corral.cli.demo_tasks import DemoTask, demo_tasks, examples_folder, submit_all
from corral.cli.flow_files import read_flow
from corral.client import Corral
from corral.contract.task_status import TaskStatus
from tests.compose.cluster import ROOT, Cluster, NoEngine, cluster
from tests.compose.load import Load

#: In this order; what others need first. Every long-running service of compose.yaml, as a test of the suite checks.
KILLED = ("phones", "host", "flower", "bridge", "beat", "jobs-reap", "jobs", "api", "redis", "postgres")
DOWN_SECONDS = 5.0
#: After a host is gone for good, its tasks are given away a lease, a tenth of it and the longest action later.
RECOVERY_LIMIT_SECONDS = 180.0
DEMO_LIMIT_SECONDS = 180.0


def main() -> int:
    # Whoever ends this process ends all that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with cluster() as started, ExitStack() as stack:
            _told("up --build --wait", lambda: started.up("--build"))
            key = started.compose("exec", "--no-TTY", "api", "corral", "keys", "bootstrap", "--name", "test").strip()
            clients = [stack.enter_context(Corral(url, key)) for url in started.api_urls]
            _told("the demo from outside", lambda: run_demo(clients[0]))
            _told("the command line from outside", lambda: run_commands(started, key))
            _told("Flower from outside", lambda: look_at_flower(started, clients[0]))
            _told("Celery from a container", lambda: use_front_door(started, clients[0]))
            load = Load(clients)
            for service in KILLED:
                _told(f"kill {service}", lambda service=service: kill(started, load, service))
            _told("the rest of the load", lambda: finish(load))
    except NoEngine as trouble:
        sys.stderr.write(
            f"there is no Docker engine here, or it has no compose plugin: {trouble}\n{NoEngine.__doc__}\n"
        )
        return 2
    return 0


def run_demo(corral: Corral) -> str:
    """The tasks of `corral demo`, of which three are cancelled: one that waits, and two that run."""
    tasks = demo_tasks()
    give_up_at = time.monotonic() + DEMO_LIMIT_SECONDS
    submit_all(corral, tasks, now=time.monotonic())
    while not all(task.has_ended for task in tasks) and time.monotonic() < give_up_at:
        for task in tasks:
            _look_at(corral, task)
        time.sleep(0.2)
    surprises = [task for task in tasks if not task.is_as_expected]
    assert not surprises, surprises
    return f"{len(tasks)} tasks ended as expected"


def _look_at(corral: Corral, task: DemoTask) -> None:
    if task.view is None or task.has_ended:
        return
    if task.is_due_for_cancel(now=time.monotonic()):
        corral.cancel(task.view.task_id, reason="shown in the test")
        task.is_cancel_requested = True
    task.see(corral.get(task.view.task_id), now=time.monotonic())


def run_commands(started: Cluster, key: str) -> str:
    """`corral` on this machine: submit and wait, submit and cancel, through the second of the published ports."""
    key_file = started.checkout.parent / "key"
    key_file.write_text(key)

    def corral(*words: str) -> subprocess.CompletedProcess[str]:
        env = {"CORRAL_API_KEY_FILE": str(key_file), "CORRAL_URL": started.api_urls[1], "HOME": str(key_file.parent)}
        command = [sys.executable, "-m", "corral", *words]
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert corral("submit", "examples/write_a_note.yaml", "--wait").returncode == 0
    assert corral("submit", "examples/look_for_a_unicorn.yaml", "--wait").returncode == 1
    endless = corral("submit", "examples/count_for_ever.yaml").stdout.strip()
    cancelled = corral("cancel", endless, "--wait")
    assert "cancelled" in cancelled.stdout + cancelled.stderr
    return "done, failed, cancelled"


def look_at_flower(started: Cluster, corral: Corral) -> str:
    """Nobody without a password; the host among the workers; a running task ends by Flower's Terminate."""
    users = started.read("flower", "/run/secrets/users").partition(":")
    assert httpx.get(started.flower_url).status_code == httpx.codes.UNAUTHORIZED
    with httpx.Client(base_url=started.flower_url, auth=(users[0], users[2])) as flower:
        _until(lambda: "host-1" in flower.get("/api/workers", params={"status": "true"}).json(), what="host-1")
        flow = read_flow(examples_folder() / "count_for_ever.yaml")
        task = corral.submit(flow.source, files=flow.files)
        _until(lambda: corral.get(task.task_id).status is TaskStatus.DISPATCHED, what="a running task")
        _until(lambda: flower.get(f"/api/task/info/{task.task_id}").is_success, what="the task in Flower")
        flower.post(f"/api/task/revoke/{task.task_id}", params={"terminate": "true"}).raise_for_status()
    ended = corral.wait(task.task_id, timeout_seconds=60)
    assert ended.status is TaskStatus.CANCELLED, ended
    assert ended.cancellation is not None
    assert ended.cancellation.requested_by.startswith("celery:"), ended.cancellation
    return f"host-1 is shown, and Terminate cancels as {ended.cancellation.requested_by}"


def use_front_door(started: Cluster, corral: Corral) -> str:
    """The example for clients of Celery, in a container that reaches Redis and neither the API nor Postgres."""
    client = (ROOT / "examples/celery_client.py").read_text()
    command = 'python - "$(cat /run/secrets/redis-url)"'
    said = started.compose("exec", "--no-TTY", "flower", "sh", "-c", command, stdin=client)
    assert "SUCCESS" in said, said
    of_client = [task for task in corral.list() if task.created_by.startswith("celery:")]
    assert of_client
    return f"{len(of_client)} tasks by {of_client[0].created_by}"


def kill(started: Cluster, load: Load, service: str) -> str:
    """Kill all replicas under load, leave them dead for a while, start them again, and see the load go on."""
    load.run_for(3)
    started.compose("kill", service)
    load.run_for(DOWN_SECONDS)
    before, begun_at = load.ended(), time.monotonic()
    with ThreadPoolExecutor(1) as beside:
        being_up = beside.submit(started.up, "--no-build")
        load.run_until(being_up.done, limit_seconds=RECOVERY_LIMIT_SECONDS)
        being_up.result()
    up_seconds = time.monotonic() - begun_at
    load.run_until(lambda: load.ended() >= before + 6, limit_seconds=RECOVERY_LIMIT_SECONDS)
    return f"up again after {up_seconds:.0f} s, and the load went on after {time.monotonic() - begun_at:.0f} s"


def finish(load: Load) -> str:
    """Wait for what is open, and judge every task of the load."""
    load.run_until(lambda: not load.open(), limit_seconds=RECOVERY_LIMIT_SECONDS, submits=False)
    surprises = load.surprises()
    assert not surprises, "\n".join(surprises)
    views = [wish.view for wish in load.wishes if wish.view]
    counts = {status: sum(view.status is status for view in views) for status in TaskStatus if status.is_terminal}
    again = sum(view.attempt > 1 for view in views)
    return (
        f"{len(views)} tasks ended as they should ({', '.join(f'{n} {status}' for status, n in counts.items())}), "
        f"{again} of them after another attempt; {load.unanswered} calls had no answer"
    )


def _until(is_so: Callable[[], bool], *, what: str, limit_seconds: float = 60.0) -> None:
    give_up_at = time.monotonic() + limit_seconds
    while not is_so():
        assert time.monotonic() < give_up_at, f"no {what} within {limit_seconds:g} s"
        time.sleep(0.2)


def _told(what: str, do: Callable[[], str | None]) -> None:
    begun_at = time.monotonic()
    sys.stdout.write(f"{what} ... ")
    sys.stdout.flush()
    said = do()
    sys.stdout.write(f"{time.monotonic() - begun_at:.0f} s{f': {said}' if said else ''}\n")


if __name__ == "__main__":
    sys.exit(main())
