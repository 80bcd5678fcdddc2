"""Ids that Celery clients revoke, in every state of a task, and before there is one."""

import threading
from uuid import UUID, uuid4

import pytest

from control.operations.purge import purge
from control.operations.revokes import Revoked, cancel_revoked
from control.store.celery_revokes import lock_celery_id, take_revoke
from control.store.database import Database, Transaction
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet
from tests.control.together import at_once, until_somebody_waits


@pytest.fixture
def revoke(fleet: Fleet):
    def revoke(*ids: str | UUID, keeps_unknown: bool = False) -> Revoked:
        return cancel_revoked(fleet.plane, ids, actor="celery:bridge", keeps_unknown=keeps_unknown)

    return revoke


def test_a_queued_task_is_cancelled_at_once_and_audited_as_celerys(fleet: Fleet, revoke) -> None:
    task_id = fleet.submit()
    assert revoke(str(task_id)) == Revoked(cancelled={task_id})
    story = fleet.show(task_id).cancellation
    assert story is not None
    assert (fleet.show(task_id).status, story.requested_by) == (TaskStatus.CANCELLED, "celery:bridge")
    assert story.reason == "revoked in Celery"


def test_assigned_and_running_tasks_are_told_together_and_again_changes_nothing(fleet: Fleet, revoke) -> None:
    host = fleet.host("A", "B")
    running, waiting = fleet.running(host), fleet.submit()
    fleet.assign()
    assert revoke(running.task_id, str(waiting)) == Revoked(cancelled={running.task_id, waiting})
    assert fleet.plane.wakeups.cancelled == [(host.host_id, running.lease_id)]
    assert fleet.plane.doorbell.rung[-1] == "settle_cancels"
    assert host.renew(running) is True
    events = fleet.kinds(running.task_id)
    assert revoke(running.task_id, str(waiting)) == Revoked(settled={running.task_id, waiting})
    assert fleet.kinds(running.task_id) == events
    assert len(fleet.plane.wakeups.cancelled) == 1


def test_an_ended_task_stays_as_it_ended(fleet: Fleet, revoke) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "done")
    assert revoke(assignment.task_id, keeps_unknown=True) == Revoked(settled={assignment.task_id})
    assert fleet.show(assignment.task_id).status is TaskStatus.DONE


def test_what_is_no_uuid_or_nobodys_is_unknown(fleet: Fleet, revoke) -> None:
    task_id, stranger = fleet.submit(), str(uuid4())
    revoked = revoke("my-task", "", "0" * 500, stranger, task_id)
    assert revoked == Revoked(cancelled={task_id}, unknown={"my-task", "", "0" * 500, stranger})


def test_a_stranger_is_kept_where_the_front_door_is_open(fleet: Fleet, revoke, database: Database) -> None:
    stranger = uuid4()
    for _ in range(2):
        assert revoke(str(stranger), "my-task", keeps_unknown=True) == Revoked(kept={stranger}, unknown={"my-task"})
    with database.transaction() as tx:
        lock_celery_id(tx, stranger)
        kept = take_revoke(tx, stranger)
    assert kept is not None
    assert dict(kept) == {"actor": "celery:bridge", "reason": "revoked in Celery"}
    assert revoke(str(stranger)) == Revoked(unknown={str(stranger)})


def test_a_revoke_waits_for_a_task_that_is_being_accepted_and_cancels_it(
    fleet: Fleet, revoke, database: Database
) -> None:
    model_id, accepted_id, is_locked = fleet.submit(), uuid4(), threading.Event()

    def accept() -> None:
        with database.transaction() as tx:
            lock_celery_id(tx, accepted_id)
            assert take_revoke(tx, accepted_id) is None
            is_locked.set()
            until_somebody_waits(database)
            copy_task(tx, model_id, [accepted_id])

    def revoke_it() -> Revoked:
        assert is_locked.wait(10)
        return revoke(accepted_id, keeps_unknown=True)

    _, revoked = at_once(accept, revoke_it)
    assert revoked == Revoked(cancelled={accepted_id})
    assert fleet.show(accepted_id).status is TaskStatus.CANCELLED


def copy_task(tx: Transaction, model_id: UUID, task_ids: list[UUID]) -> None:
    tx.run(
        """
        INSERT INTO scheduled_tasks
        SELECT (jsonb_populate_record(task, jsonb_build_object('task_id', copy.task_id))).*
        FROM scheduled_tasks AS task, unnest(CAST(:task_ids AS uuid[])) AS copy (task_id)
        WHERE task.task_id = :model_id
        """,
        model_id=model_id,
        task_ids=task_ids,
    )


def test_ten_thousand_ids_are_sorted_out_and_a_thousand_tasks_cancelled(
    fleet: Fleet, revoke, database: Database
) -> None:
    model_id, copies = fleet.submit(), [uuid4() for _ in range(999)]
    tasks = {model_id, *copies}
    with database.transaction() as tx:
        copy_task(tx, model_id, copies)
    strangers = {uuid4() for _ in range(9_000)}
    revoked = revoke(*tasks, *strangers, keeps_unknown=True)
    assert (revoked.cancelled, revoked.kept, revoked.unknown) == (tasks, strangers, set())
    with database.transaction() as tx:
        assert tx.value("SELECT count(*) FROM scheduled_tasks WHERE status = 'cancelled'") == 1000


def test_a_kept_revoke_is_forgotten_after_a_week(fleet: Fleet, revoke, database: Database) -> None:
    old, young = uuid4(), uuid4()
    revoke(old, young, keeps_unknown=True)
    with database.transaction() as tx:
        tx.run("UPDATE celery_revokes SET revoked_at = revoked_at - interval '8 days' WHERE task_id = :old", old=old)
    purge(fleet.plane)
    assert revoke(old, young) == Revoked(kept={young}, unknown={old})


def test_of_a_long_list_device_tasks_come_first_and_each_part_is_told_of(fleet: Fleet, monkeypatch) -> None:
    monkeypatch.setattr("control.operations.revokes.LOOK_IDS", 2)
    statuses: list[TaskStatus] = []
    strangers = [UUID(int=number) for number in range(1, 5)]
    task_id = fleet.submit()
    cancel_revoked(
        fleet.plane,
        [*strangers, task_id],
        actor="celery:bridge",
        keeps_unknown=True,
        on_progress=lambda: statuses.append(fleet.show(task_id).status),
    )
    # Three parts are looked for, and two are kept.
    assert statuses == [TaskStatus.QUEUED] * 2 + [TaskStatus.CANCELLED] * 3
