"""Two operations in an order that is forced: one stands still before its commit, the other meets what it holds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from control.domain.errors import CancelNotRequested, StaleLease
from control.operations.cancels import settle_cancels
from control.operations.hosts import mark_silent_hosts_offline
from control.operations.plane import Plane
from control.operations.reap import lose_leases, reap_expired_leases, release_unclaimed_assignments
from control.operations.tasks import list_attempts
from control.store import leases, transitions
from control.store.database import Database, Transaction, retried_on_deadlock
from control.store.tasks import task_detail
from corral.contract.cancellation import CancellationOutcome
from corral.contract.history import AttemptStatus
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet
from tests.control.together import at_once, until_somebody_waits


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def reap_in(plane: Plane, tx: Transaction) -> None:
    expired = leases.expired_leases(tx, expired_for_seconds=0)
    lost = leases.end_expired_leases(tx, expired, expired_for_seconds=0)
    lose_leases(plane, tx, lost, reason="expired", confirmed=False)


def test_a_restarted_host_that_meets_the_reaper_finds_its_lease_decided_once(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    with database.transaction() as tx:
        reap_in(fleet.plane, tx)
        restarted = elsewhere.submit(host.restart)
        until_somebody_waits(database)
    restarted.result(10)
    assert fleet.kinds(assignment.task_id) == ["queued", "assigned", "dispatched", "requeued"]
    assert [one.status for one in list_attempts(fleet.plane, assignment.task_id).attempts] == [AttemptStatus.EXPIRED]


def test_the_reaper_passes_over_leases_that_a_restarted_host_is_giving_up(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    with database.transaction() as tx:
        former = leases.end_leases_of_former_lives(tx, host_id=host.host_id, incarnation=uuid7())
        assert reap_expired_leases(fleet.plane) == 0
        lose_leases(fleet.plane, tx, former, reason="restarted", confirmed=True)
    assert reap_expired_leases(fleet.plane) == 0
    assert fleet.kinds(assignment.task_id).count("requeued") == 1


def test_a_renewal_and_a_report_that_wait_for_the_reaper_are_told_that_the_lease_is_lost(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    with database.transaction() as tx:
        reap_in(fleet.plane, tx)
        late = [elsewhere.submit(host.renew, assignment), elsewhere.submit(host.report, assignment, "done")]
        until_somebody_waits(database)
    for one in late:
        with pytest.raises(StaleLease):
            one.result(10)
    assert fleet.show(assignment.task_id).status is TaskStatus.QUEUED


def test_a_result_that_meets_a_cancel_before_its_commit_still_wins(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    with database.transaction() as tx:
        transitions.request_cancel(tx, assignment.task_id, actor="key:tests", reason=None)
        # Nobody can know of this cancel yet, so a host that says `cancelled` is not believed.
        with pytest.raises(CancelNotRequested):
            host.report(assignment, "cancelled")
        reported = elsewhere.submit(host.report, assignment, "done")
        until_somebody_waits(database)
    assert reported.result(10).task_status == "done"
    receipt = fleet.show(assignment.task_id).cancellation
    assert receipt is not None
    assert receipt.outcome is CancellationOutcome.TOO_LATE


def test_a_cancel_that_meets_the_reaper_before_its_commit_reaches_the_requeued_task(
    fleet: Fleet, database: Database, elsewhere: ThreadPoolExecutor
) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    with database.transaction() as tx:
        reap_in(fleet.plane, tx)
        cancelled = elsewhere.submit(fleet.cancel, assignment.task_id)
        until_somebody_waits(database)
    assert cancelled.result(10).task_status is TaskStatus.CANCELLED
    assert fleet.kinds(assignment.task_id)[-3:] == ["requeued", "cancel_requested", "cancelled"]


def test_a_claim_takes_nothing_that_is_being_released_or_settled(fleet: Fleet, database: Database) -> None:
    host = fleet.host("PHONE1", "PHONE2")
    released, settled = fleet.submit(), fleet.submit()
    fleet.assign()
    fleet.cancel(settled)
    with database.transaction() as tx:
        transitions.release_assignments_of(tx, [host.host_id])
        assert host.claim() is None
        assert settle_cancels(fleet.plane) == 0
    assert fleet.show(released).status is TaskStatus.QUEUED
    assert fleet.show(settled).status is TaskStatus.CANCELLED
    assert fleet.kinds(settled).count("cancelled") == 1


def test_reapers_at_once_end_each_lease_once(fleet: Fleet) -> None:
    host = fleet.host(*(f"PHONE{number}" for number in range(12)))
    for _ in range(12):
        fleet.submit()
    fleet.assign()
    running = [assignment for _ in range(12) if (assignment := host.claim())]
    for assignment in running:
        fleet.expire(assignment)
    reaped = at_once(*[lambda: reap_expired_leases(fleet.plane)] * 4)
    assert sum(reaped) == 12
    assert all(fleet.kinds(assignment.task_id).count("requeued") == 1 for assignment in running)


def test_a_claim_a_release_and_an_end_of_the_host_at_once_leave_one_truth(fleet: Fleet, database: Database) -> None:
    for _ in range(6):
        host = fleet.host()
        task_id = fleet.submit()
        fleet.assign()
        fleet.api_has_been_up()
        with database.transaction() as tx:
            tx.run("UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes'")
            tx.run("UPDATE scheduled_tasks SET assigned_at = corral_now() - interval '5 minutes'")
        assignment, released, silent = at_once(
            host.claim,
            lambda: release_unclaimed_assignments(fleet.plane),
            lambda: mark_silent_hosts_offline(fleet.plane),
        )
        assert (released, silent) in {(0, 0), (0, 1), (1, 0), (1, 1)}
        expected = TaskStatus.DISPATCHED if assignment else TaskStatus.QUEUED
        shown = fleet.show(task_id)
        assert shown.status is expected
        assert shown.attempt == (1 if assignment else 0)
        fleet.cancel(task_id)
        if assignment:
            host.report(assignment, "cancelled")
        mark_silent_hosts_offline(fleet.plane)


def test_what_one_snapshot_reads_is_of_one_moment(fleet: Fleet, database: Database) -> None:
    task_id = fleet.submit()
    with database.snapshot() as tx:
        before = task_detail(tx, task_id)
        fleet.cancel(task_id)
        assert task_detail(tx, task_id) == before
    assert fleet.show(task_id).status is TaskStatus.CANCELLED


def test_a_deadlock_runs_again_and_acts_once(fleet: Fleet, elsewhere: ThreadPoolExecutor) -> None:
    first, second = fleet.submit(), fleet.submit()
    both_hold_one, runs, acts = Barrier(2), [], []

    @retried_on_deadlock
    def touch(one: Any, other: Any) -> None:
        runs.append(one)
        is_first_run = runs.count(one) == 1
        with fleet.plane.database.transaction() as tx:
            for task_id in (one, other):
                tx.row("SELECT 1 FROM scheduled_tasks WHERE task_id = :task_id FOR UPDATE", task_id=task_id)
                if is_first_run and task_id is one:
                    both_hold_one.wait(10)
            tx.after_commit(lambda: acts.append(one))

    for done in [elsewhere.submit(touch, first, second), elsewhere.submit(touch, second, first)]:
        done.result(20)
    assert len(runs) == 3
    assert sorted(acts) == sorted([first, second])


def test_a_commit_that_fails_is_an_error_and_does_nothing_afterwards(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    acts: list[int] = []

    def cancel_and_lose_the_connection() -> None:
        with database.transaction() as tx:
            transitions.request_cancel(tx, assignment.task_id, actor="key:tests", reason=None)
            tx.after_commit(lambda: acts.append(1))
            backend = tx.value("SELECT pg_backend_pid()")
            with database.transaction() as other:
                other.run("SELECT pg_terminate_backend(:backend)", backend=backend)

    with pytest.raises(OperationalError):
        cancel_and_lose_the_connection()
    assert acts == []
    assert not fleet.show(assignment.task_id).is_cancelling
    assert host.renew(assignment) is False
