"""Many leases that expire at once: each is decided by its own row, in chunks, and told after the commit."""

from uuid import UUID

import pytest

from control.operations import reap
from control.operations.reap import reap_expired_leases
from control.operations.tasks import list_attempts, list_events
from control.signals.words import LeaseOf
from control.store import leases
from control.store.database import Database
from corral.contract.cancellation import StoppedBy
from corral.contract.history import AttemptStatus
from corral.contract.host_protocol import Assignment
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet, Host, RecordedRings, RecordedWakeups

REASON = "its lease expired: the host was not heard of"


@pytest.fixture
def chunks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reap, "REAPED_TOGETHER", 2)


def running(fleet: Fleet, host: Host, count: int, **more: object) -> list[Assignment]:
    """Tasks that the host has claimed and then forgets, so that they expire."""
    assignments = [fleet.running(host, **more) for _ in range(count)]
    for assignment in assignments:
        fleet.expire(assignment)
    return assignments


def details_of_last_event(fleet: Fleet, task_id: UUID) -> dict[str, object]:
    return list_events(fleet.plane, task_id).events[-1].details


@pytest.mark.usefixtures("chunks_of_two")
def test_one_call_reaps_all_that_expired_and_tells_each_lease(fleet: Fleet) -> None:
    host = fleet.host(*"ABCDEFG")
    assignments = running(fleet, host, 5)
    alive = fleet.running(host)
    rings, told = fleet.plane.doorbell, fleet.plane.wakeups
    assert isinstance(rings, RecordedRings)
    assert isinstance(told, RecordedWakeups)
    told.ended.clear()
    rings.rung.clear()
    assert reap_expired_leases(fleet.plane) == 5
    assert set(told.ended) == {LeaseOf(host.host_id, one.lease_id) for one in assignments}
    assert len(rings.rung) == 3
    assert {fleet.show(one.task_id).status for one in assignments} == {TaskStatus.QUEUED}
    assert fleet.show(alive.task_id).status is TaskStatus.DISPATCHED
    assert reap_expired_leases(fleet.plane) == 0


def test_each_task_of_a_chunk_is_decided_by_its_own_row(fleet: Fleet) -> None:
    host = fleet.host(*"ABC")
    (again,) = running(fleet, host, 1)
    (last,) = running(fleet, host, 1, max_attempts=1)
    (cancelled,) = running(fleet, host, 1)
    fleet.cancel(cancelled.task_id)
    assert reap_expired_leases(fleet.plane) == 3
    assert fleet.show(again.task_id).status is TaskStatus.QUEUED
    assert details_of_last_event(fleet, again.task_id) == {"reason": REASON, "attempts_left": 1}
    failed = fleet.show(last.task_id)
    assert (failed.status, failed.failure_reason) == (TaskStatus.FAILED, REASON)
    assert details_of_last_event(fleet, last.task_id) == {"reason": REASON, "attempts_left": 0}
    assert fleet.show(cancelled.task_id).status is TaskStatus.CANCELLED
    assert details_of_last_event(fleet, cancelled.task_id) == {
        "reason": REASON,
        "attempts_left": 1,
        "stopped_by": StoppedBy.REAPER,
        "confirmed": False,
    }
    for one in (again, last, cancelled):
        (attempt,) = list_attempts(fleet.plane, one.task_id).attempts
        assert (attempt.status, attempt.failure_reason) == (AttemptStatus.EXPIRED, REASON)


def test_a_lease_that_is_renewed_after_the_look_is_left_alone(fleet: Fleet, database: Database) -> None:
    host = fleet.host("A")
    (assignment,) = running(fleet, host, 1)
    with database.transaction() as tx:
        expired = leases.expired_leases(tx, expired_for_seconds=0)
    assert expired == [assignment.lease_id]
    host.renew(assignment)
    with database.transaction() as tx:
        assert leases.end_expired_leases(tx, expired, expired_for_seconds=0) == []
    assert fleet.show(assignment.task_id).status is TaskStatus.DISPATCHED


@pytest.mark.usefixtures("chunks_of_two")
def test_what_a_pass_has_no_time_for_is_left_to_the_next(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    host = fleet.host(*"ABC")
    running(fleet, host, 3)
    with monkeypatch.context() as hurry:
        hurry.setattr(reap, "LONGEST_PASS_SECONDS", -1.0)
        assert reap_expired_leases(fleet.plane) == 0
    assert reap_expired_leases(fleet.plane) == 3


def test_a_restarted_host_loses_all_leases_of_its_former_life_and_they_are_told(fleet: Fleet) -> None:
    host = fleet.host(*"ABC")
    assignments = [fleet.running(host) for _ in range(3)]
    told = fleet.plane.wakeups
    assert isinstance(told, RecordedWakeups)
    told.ended.clear()
    host.restart()
    assert set(told.ended) == {LeaseOf(host.host_id, one.lease_id) for one in assignments}
    assert {fleet.show(one.task_id).status for one in assignments} == {TaskStatus.QUEUED}
