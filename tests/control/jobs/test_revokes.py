"""What workers do with ids that are revoked: for device tasks, for tasks of Celery, and while Postgres is away."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from celery import Celery
from celery.worker import control, state
from celery.worker.control import Panel

from control.artifacts import ArtifactFolder
from control.flower.reconciliation import reconcile_revokes
from control.jobs.celery_app import CeleryApp, celery_app
from control.jobs.revokes import PanelRevokes, register_revokes
from control.jobs.schedule import JobQueue
from control.jobs.state_file import StateFileUnusable, check_state_file, close_state_file
from control.jobs.worker import worker_options
from control.operations.plane import Plane
from control.store.database import Database
from corral.contract.task_status import TaskStatus
from corral.stack.ports import free_port
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups
from tests.control.flower.listening import listening
from tests.control.working import working

WORKER = "jobs@here"


@contextmanager
def revocable(app: CeleryApp, **options: Any) -> Iterator[None]:
    """A worker of this application, while the block runs; it forgets then what was revoked."""
    with working(app, {"hostname": WORKER, **options}) as worker:
        yield
    close_state_file(worker)
    state.revoked.clear()
    app.close()


@contextmanager
def our_worker(url: str, plane: Plane, *, state_file: Path | None = None, **more: Any) -> Iterator[CeleryApp]:
    app = celery_app(url)
    register_revokes(app, PanelRevokes(plane, **{"keeps_unknown": False, **more}))
    options = worker_options(nodename=WORKER, concurrency=1, queues=list(JobQueue), state_file=state_file)
    try:
        with revocable(app, **options):
            yield app
    finally:
        # For the workers of other tests.
        Panel.data.update(revoke=control.revoke, terminate=control.terminate)


@pytest.fixture
def plane(database: Database, tmp_path: Path) -> Plane:
    """One that rings nobody: the workers here have no jobs."""
    return Plane(database, RecordedRings(), RecordedWakeups(), ArtifactFolder(tmp_path / "artifacts"))


@pytest.fixture
def client(redis_url: str) -> Iterator[Celery]:
    app = Celery("somebody", broker=redis_url, backend=redis_url, set_as_current=False)
    yield app
    app.close()


@pytest.fixture
def deaf(plane: Plane) -> Iterator[Plane]:
    """The same plane, without its Postgres."""
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    database = Database.connect(url, pool_size=1, application_name="test")
    yield replace(plane, database=database)
    database.close()


def revoke(client: Celery, ids: Any, **more: Any) -> Any:
    (reply,) = client.control.revoke(ids, reply=True, limit=1, timeout=10, **more)
    return reply[WORKER]


def is_cancelled_by(fleet: Fleet, task_id: UUID) -> str | None:
    shown = fleet.show(task_id)
    return shown.cancellation.requested_by if shown.status is TaskStatus.CANCELLED and shown.cancellation else None


@pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")
def test_a_worker_cancels_device_tasks_and_leaves_other_ids_to_celery(
    plane: Plane, redis_url: str, client: Celery
) -> None:
    fleet = Fleet(plane)
    one, two, three = fleet.submit(), fleet.submit(), fleet.submit()
    stranger, late = str(uuid4()), str(uuid4())
    with our_worker(redis_url, plane):
        assert revoke(client, str(one)) == {"ok": f"device tasks {one} cancelled"}
        said = revoke(client, [str(two), stranger], terminate=True)
        assert said == {"ok": f"device tasks {two} cancelled; terminate: tasks unknown"}
        (reply,) = client.control.broadcast(
            "terminate", arguments={"signal": "TERM", "task_id": str(three)}, reply=True, limit=1, timeout=10
        )
        assert reply == {WORKER: {"ok": f"device tasks {three} cancelled"}}
        assert revoke(client, ["no-uuid"]) == {"ok": "tasks {'no-uuid'} flagged as revoked"}
        client.control.revoke(late, destination=["somebody@else"])
        assert "error" in revoke(client, {"no": "id"})
        remembered = client.control.inspect([WORKER], timeout=10).revoked()
        assert set(remembered[WORKER]) == {"no-uuid", stranger}
    assert {is_cancelled_by(fleet, task_id) for task_id in (one, two, three)} == {f"celery:{WORKER}"}
    states = {task_id: client.backend.get_state(str(task_id)) for task_id in (one, two, three, stranger, late)}
    assert states == {one: "PENDING", two: "PENDING", three: "PENDING", stranger: "REVOKED", late: "PENDING"}


def test_a_revoke_while_postgres_is_away_is_remembered_over_a_restart_and_found_by_reconciliation(
    plane: Plane, deaf: Plane, redis_url: str, client: Celery, tmp_path: Path
) -> None:
    fleet = Fleet(plane)
    task_id, ended = fleet.submit(), fleet.submit()
    fleet.cancel(ended)
    with our_worker(redis_url, deaf, state_file=tmp_path / "state"):
        said = "the database does not answer, 2 ids flagged as revoked until it does"
        assert revoke(client, [str(task_id), str(ended)]) == {"ok": said}
        saved = list(tmp_path.iterdir())
        assert saved, "a worker that is killed saves nothing later"
    assert client.backend.get_state(str(task_id)) == "PENDING"
    assert not state.revoked
    with (
        our_worker(redis_url, deaf, state_file=tmp_path / "state") as app,
        listening(redis_url, plane),
    ):
        assert reconcile_revokes(app, plane, keeps_unknown=False) == 1
        assert reconcile_revokes(app, plane, keeps_unknown=False) == 0
    assert is_cancelled_by(fleet, task_id) == "celery:reconciliation"


def test_a_revoke_that_postgres_holds_up_is_remembered_and_done_when_it_can(
    plane: Plane, redis_url: str, client: Celery, eventually
) -> None:
    fleet = Fleet(plane)
    task_id = fleet.submit()
    with our_worker(redis_url, plane, limit_seconds=0.1):
        with plane.database.transaction() as tx:
            tx.run("SELECT FROM scheduled_tasks FOR UPDATE")
            for _ in range(2):
                assert "does not answer" in revoke(client, str(task_id))["ok"]
            assert set(state.revoked) == {str(task_id)}
        eventually(lambda: is_cancelled_by(fleet, task_id))


@pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")
def test_a_revoke_that_only_somebody_elses_worker_heard_is_found_by_reconciliation(
    plane: Plane, redis_url: str, client: Celery
) -> None:
    fleet = Fleet(plane)
    task_id, stranger = fleet.submit(), uuid4()
    somebody = Celery("plain", broker=redis_url, backend=redis_url, set_as_current=False)
    somebody.conf.worker_hijack_root_logger = False
    with revocable(somebody, pool="solo", without_mingle=True, without_gossip=True, loglevel="ERROR"):
        assert "flagged as revoked" in revoke(client, [str(task_id), str(stranger)])["ok"]
        app = celery_app(redis_url)
        assert reconcile_revokes(app, plane, keeps_unknown=True) == 1
        app.close()
    assert is_cancelled_by(fleet, task_id) == "celery:reconciliation"
    with plane.database.transaction() as tx:
        assert tx.value("SELECT task_id FROM celery_revokes") == stranger


@pytest.mark.parametrize("name", ["no-folder/state", "a-folder", "garbage"])
def test_a_state_file_that_is_none_is_named_before_a_worker_starts(tmp_path: Path, name: str) -> None:
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "garbage").write_bytes(b"no database at all")
    if name == "a-folder":
        (tmp_path / "a-folder.dat").mkdir()
    with pytest.raises(StateFileUnusable, match=name):
        check_state_file(tmp_path / name)
