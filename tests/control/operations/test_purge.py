"""What is forgotten, and what meets the purge on its way."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from control.domain.errors import StaleLease, TaskNotFound
from control.operations.artifacts import list_artifacts, store_artifact
from control.operations.purge import purge
from control.operations.submit import Submitted, submit_task
from control.store import artifacts
from control.store.database import Database
from control.store.tasks import delete_tasks, ended_tasks, find_idempotency_key
from corral.contract.host_protocol import Assignment
from corral.contract.identifiers import uuid7
from corral.contract.tasks import TaskSubmission
from tests.control.fleet import FLOW, SUBMITTER, Fleet, Host
from tests.control.together import until_somebody_waits


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def let_time_pass(database: Database, *, days: int = 60) -> None:
    with database.transaction() as tx:
        tx.run(
            """
            UPDATE scheduled_tasks SET created_at = created_at - make_interval(days => :days),
                finished_at = finished_at - make_interval(days => :days)
            """,
            days=days,
        )


def upload(fleet: Fleet, host: Host, assignment: Assignment, content: bytes = b"png") -> Any:
    return store_artifact(
        fleet.plane, host.host_id, assignment.lease_id, "screen.png", media_type="image/png", chunks=[content]
    )


def files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]


def submit_under_key(fleet: Fleet, key: str) -> Submitted:
    submission = TaskSubmission.model_validate({"kind": "flow", "flow": FLOW})
    return submit_task(fleet.plane, submission, principal=SUBMITTER, idempotency_key=key)


def purge_slowly(fleet: Fleet, meanwhile: Callable[[], Future[Any]]) -> Future[Any]:
    """Purge, and begin something else between its deletes and its commit."""
    with fleet.plane.database.transaction() as tx:
        delete_tasks(tx, ended_tasks(tx, older_than_days=30))
        begun = meanwhile()
        until_somebody_waits(fleet.plane.database)
    return begun


def test_an_ended_task_goes_with_all_that_belongs_to_it(fleet: Fleet, database: Database, tmp_path: Path) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    upload(fleet, host, assignment)
    host.report(assignment, "done")
    assert purge(fleet.plane) == 0
    let_time_pass(database)
    assert purge(fleet.plane) == 1
    with pytest.raises(TaskNotFound):
        fleet.show(assignment.task_id)
    assert files(tmp_path) == []


def test_a_task_that_has_not_ended_is_kept_however_old_it_is(fleet: Fleet, database: Database) -> None:
    host = fleet.host("PHONE1", "PHONE2")
    cancelling = fleet.running(host)
    fleet.cancel(cancelling.task_id)
    waiting = [fleet.submit(), fleet.submit()]
    fleet.assign()
    let_time_pass(database)
    assert purge(fleet.plane) == 0
    assert fleet.show(cancelling.task_id).is_cancelling
    assert {fleet.show(task).status.value for task in waiting} == {"queued", "assigned"}


def test_a_submit_whose_key_is_being_purged_makes_a_fresh_task(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    first = submit_under_key(fleet, "nightly").task.task_id
    fleet.cancel(first)
    let_time_pass(database)
    again = purge_slowly(fleet, lambda: elsewhere.submit(submit_under_key, fleet, "nightly")).result(10)
    assert (again.is_replay, again.task.task_id == first) == (False, False)


def test_a_purge_waits_for_a_submit_that_answers_with_its_task(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    first = submit_under_key(fleet, "nightly").task.task_id
    fleet.cancel(first)
    let_time_pass(database)
    with database.transaction() as tx:
        find_idempotency_key(tx, key_id=SUBMITTER.key_id, key="nightly")
        purging = elsewhere.submit(purge, fleet.plane)
        until_somebody_waits(database)
        assert tx.value("SELECT count(*) FROM scheduled_tasks WHERE task_id = :task_id", task_id=first) == 1
    assert purging.result(10) == 1


def test_an_upload_whose_task_is_being_purged_is_refused_and_leaves_no_bytes(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor, tmp_path: Path
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "done")
    let_time_pass(database)
    late = purge_slowly(fleet, lambda: elsewhere.submit(upload, fleet, host, assignment))
    with pytest.raises(StaleLease):
        late.result(10)
    assert files(tmp_path) == []


def test_a_purge_passes_over_a_task_that_takes_in_an_upload(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "done")
    let_time_pass(database)
    with database.transaction() as tx:
        artifacts.lock_attempt(tx, task_id=assignment.task_id, attempt=1)
        assert purge(fleet.plane) == 0
    assert purge(fleet.plane) == 1


def test_uploads_of_one_name_at_once_leave_one_file(
    fleet: Fleet, elsewhere: ThreadPoolExecutor, tmp_path: Path
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    uploads = [elsewhere.submit(upload, fleet, host, assignment, b"x" * size) for size in (1, 2, 3, 4, 5, 6)]
    sizes = {one.result(10).size_bytes for one in uploads}
    assert sizes == {1, 2, 3, 4, 5, 6}
    (kept,) = list_artifacts(fleet.plane, assignment.task_id).artifacts
    (file,) = files(tmp_path)
    assert file.stat().st_size == kept.size_bytes


def test_what_a_lost_run_uploads_afterwards_is_kept_as_evidence(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.restart()
    assert upload(fleet, host, assignment).is_late
    (kept,) = list_artifacts(fleet.plane, assignment.task_id).artifacts
    assert (kept.attempt, kept.is_late) == (1, True)
    with database.transaction() as tx:
        tx.run("UPDATE task_attempts SET finished_at = corral_now() - interval '25 hours'")
    with pytest.raises(StaleLease):
        upload(fleet, host, assignment)


def test_a_lease_that_never_was_takes_no_upload(fleet: Fleet) -> None:
    host = fleet.host()
    with pytest.raises(StaleLease):
        store_artifact(fleet.plane, host.host_id, UUID(int=0), "a.png", media_type="image/png", chunks=[])
    assignment = fleet.running(host)
    with pytest.raises(StaleLease):
        store_artifact(fleet.plane, uuid7(), assignment.lease_id, "a.png", media_type="image/png", chunks=[])
