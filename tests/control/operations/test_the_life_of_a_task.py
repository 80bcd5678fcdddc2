"""What becomes of a task, in the order in which it happens."""

import pytest

from control.domain.errors import CancelNotRequested, ResultConflict, StaleLease
from control.operations.assign import fail_impatient_tasks
from control.operations.plane import Job
from control.operations.reap import reap_expired_leases, release_unclaimed_assignments
from control.operations.tasks import list_attempts
from control.store.database import Database
from corral.contract.history import AttemptStatus
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet


def advance(database: Database, *, seconds: int) -> None:
    """Move the times that were written into the past, which is all that the future is."""
    with database.transaction() as tx:
        tx.run(
            """
            UPDATE scheduled_tasks SET assigned_at = assigned_at - make_interval(secs => :seconds),
                queued_at = queued_at - make_interval(secs => :seconds)
            """,
            seconds=seconds,
        )


def test_a_task_is_queued_assigned_dispatched_and_done(fleet: Fleet) -> None:
    host = fleet.host()
    task_id = fleet.submit(labels={"team": "checkout"})
    assert fleet.show(task_id).status is TaskStatus.QUEUED
    assert fleet.assign() == 1
    assignment = host.claim()
    assert assignment is not None
    assert (assignment.task_id, assignment.attempt, assignment.device_serial) == (task_id, 1, "PHONE1")
    assert assignment.lease_remaining_ms == pytest.approx(30_000, abs=200)
    assert host.renew(assignment) is False
    assert host.report(assignment, "done", result={"steps": 3}).status == "recorded"
    shown = fleet.show(task_id)
    assert (shown.status, shown.result, shown.cancellation) == (TaskStatus.DONE, {"steps": 3}, None)
    assert fleet.kinds(task_id) == ["queued", "assigned", "dispatched", "done"]


def test_a_submit_a_finish_and_a_ready_device_ring_for_an_assignment(fleet: Fleet) -> None:
    host = fleet.host()
    assert fleet.plane.doorbell.rung == [Job.ASSIGN_TASKS]
    assignment = fleet.running(host)
    assert fleet.plane.doorbell.rung == [Job.ASSIGN_TASKS] * 2
    host.report(assignment, "done")
    assert fleet.plane.doorbell.rung == [Job.ASSIGN_TASKS] * 3
    host.beat()
    assert len(fleet.plane.doorbell.rung) == 3, "a heartbeat that brings nothing rings nothing"


def test_an_assignment_wakes_the_waiting_host(fleet: Fleet) -> None:
    host = fleet.host()
    fleet.submit()
    fleet.assign()
    assert fleet.plane.wakeups.woken == [host.host_id]


def test_the_same_claim_id_gets_the_same_task_and_lease(fleet: Fleet) -> None:
    host = fleet.host()
    fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    first, again = host.claim(claim_id=claim_id), host.claim(claim_id=claim_id)
    assert first is not None
    assert again is not None
    assert (first.lease_id, first.attempt) == (again.lease_id, again.attempt)


def test_a_repeated_claim_carries_a_cancel_that_came_in_between(fleet: Fleet) -> None:
    host = fleet.host()
    task_id = fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    host.claim(claim_id=claim_id)
    fleet.cancel(task_id)
    again = host.claim(claim_id=claim_id)
    assert again is not None
    assert again.cancel_requested is True
    receipt = fleet.show(task_id).cancellation
    assert receipt is not None
    assert receipt.delivered_at is not None


def test_a_repeated_claim_renews_the_lease_that_its_first_reply_never_reached(fleet: Fleet) -> None:
    host = fleet.host()
    fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    first = host.claim(claim_id=claim_id)
    assert first is not None
    fleet.expire(first)
    again = host.claim(claim_id=claim_id)
    assert again is not None
    assert again.lease_remaining_ms == pytest.approx(30_000, abs=200)
    assert reap_expired_leases(fleet.plane) == 0


def test_a_claim_id_whose_lease_has_ended_gets_nothing(fleet: Fleet) -> None:
    host = fleet.host()
    fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    assignment = host.claim(claim_id=claim_id)
    assert assignment is not None
    host.report(assignment, "done")
    assert host.claim(claim_id=claim_id) is None


def test_the_same_report_twice_is_recorded_once(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    assert host.report(assignment, "failed", cause="task", failure_reason="step 2").status == "recorded"
    again = host.report(assignment, "failed", cause="task", failure_reason="step 2")
    assert (again.status, again.task_status) == ("already_recorded", "failed")
    assert fleet.kinds(assignment.task_id).count("failed") == 1


def test_another_result_for_the_same_lease_is_a_conflict_that_shows_the_recorded_one(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "done")
    with pytest.raises(ResultConflict) as refused:
        host.report(assignment, "failed", cause="task")
    assert refused.value.context["recorded"]["status"] == "done"
    assert fleet.show(assignment.task_id).status is TaskStatus.DONE


def test_cancelled_is_refused_where_nobody_asked_and_the_lease_lives_on(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    with pytest.raises(CancelNotRequested):
        host.report(assignment, "cancelled")
    assert host.renew(assignment) is False
    assert fleet.show(assignment.task_id).status is TaskStatus.DISPATCHED


def test_a_failure_of_the_task_is_final_though_attempts_are_left(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host, max_attempts=5)
    host.report(assignment, "failed", cause="task", failure_reason="no such button")
    shown = fleet.show(assignment.task_id)
    assert (shown.status, shown.failure_reason) == (TaskStatus.FAILED, "no such button")


def test_a_failure_without_a_cause_is_the_tasks_own(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "failed")
    assert fleet.show(assignment.task_id).status is TaskStatus.FAILED


def test_an_infrastructure_failure_is_tried_again_until_no_attempt_is_left(fleet: Fleet) -> None:
    host = fleet.host()
    first = fleet.running(host, max_attempts=2)
    host.report(first, "failed", cause="infrastructure", failure_reason="device went away")
    assert fleet.show(first.task_id).status is TaskStatus.QUEUED
    fleet.assign()
    second = host.claim()
    assert second is not None
    assert (second.task_id, second.attempt) == (first.task_id, 2)
    host.report(second, "failed", cause="infrastructure", failure_reason="device went away")
    shown = fleet.show(first.task_id)
    assert (shown.status, shown.failure_reason) == (TaskStatus.FAILED, "device went away")
    assert fleet.kinds(first.task_id)[-1] == "failed"


def test_an_expired_lease_is_requeued_and_its_late_report_is_refused(fleet: Fleet) -> None:
    host = fleet.host()
    first = fleet.running(host)
    fleet.expire(first)
    assert reap_expired_leases(fleet.plane) == 1
    assert fleet.show(first.task_id).status is TaskStatus.QUEUED
    fleet.assign()
    second = host.claim()
    assert second is not None
    with pytest.raises(StaleLease):
        host.report(first, "done")
    with pytest.raises(StaleLease):
        host.renew(first)
    assert fleet.show(first.task_id).status is TaskStatus.DISPATCHED
    statuses = [attempt.status for attempt in list_attempts(fleet.plane, first.task_id).attempts]
    assert statuses == [AttemptStatus.EXPIRED, AttemptStatus.DISPATCHED]


def test_the_last_attempts_expiry_fails_the_task_and_frees_the_device(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host, max_attempts=1)
    fleet.expire(assignment)
    reap_expired_leases(fleet.plane)
    assert fleet.show(assignment.task_id).status is TaskStatus.FAILED
    assert fleet.running(host).attempt == 1


def test_a_report_after_the_expiry_counts_while_nobody_has_reaped(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    assert host.report(assignment, "done").status == "recorded"
    assert reap_expired_leases(fleet.plane) == 0
    assert fleet.show(assignment.task_id).status is TaskStatus.DONE


def test_the_reaper_does_not_judge_until_the_api_has_been_up_for_a_lease(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    fleet.api_has_been_up(for_seconds=fleet.plane.timing.lease_seconds - 1)
    assert reap_expired_leases(fleet.plane) == 0
    fleet.api_has_been_up(for_seconds=fleet.plane.timing.lease_seconds + 1)
    assert reap_expired_leases(fleet.plane) == 1


def test_an_api_that_was_never_up_lets_nobody_be_reaped(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.expire(assignment)
    with database.transaction() as tx:
        tx.run("DELETE FROM job_runs")
    assert reap_expired_leases(fleet.plane) == 0


def test_an_unclaimed_assignment_goes_back_without_using_up_an_attempt(fleet: Fleet, database: Database) -> None:
    fleet.host()
    task_id = fleet.submit(max_attempts=1)
    fleet.assign()
    fleet.api_has_been_up()
    assert release_unclaimed_assignments(fleet.plane) == 0
    advance(database, seconds=31)
    assert release_unclaimed_assignments(fleet.plane) == 1
    shown = fleet.show(task_id)
    assert (shown.status, shown.attempt) == (TaskStatus.QUEUED, 0)
    assert fleet.kinds(task_id) == ["queued", "assigned", "requeued"]


def test_a_task_that_waits_longer_than_it_wants_to_fails_with_that_reason(fleet: Fleet, database: Database) -> None:
    impatient, patient = fleet.submit(queue_timeout_seconds=60), fleet.submit()
    assert fail_impatient_tasks(fleet.plane) == 0
    advance(database, seconds=61)
    assert fail_impatient_tasks(fleet.plane) == 1
    assert "queue timeout of 60 s" in (fleet.show(impatient).failure_reason or "")
    assert fleet.show(patient).status is TaskStatus.QUEUED


def test_urgent_goes_before_old_and_old_before_young(fleet: Fleet) -> None:
    host = fleet.host()
    young_and_urgent = [fleet.submit(), fleet.submit(), fleet.submit(priority=5)]
    order = []
    for _ in range(3):
        fleet.assign()
        assignment = host.claim()
        assert assignment is not None
        order.append(assignment.task_id)
        host.report(assignment, "done")
    assert order == [young_and_urgent[2], young_and_urgent[0], young_and_urgent[1]]


def test_old_goes_before_young_where_ids_say_nothing_of_age(fleet: Fleet) -> None:
    host = fleet.host("A", "B")
    young, middle, old, oldest = [fleet.submit() for _ in range(4)]
    fleet.make_old({young: 1, middle: 2, old: 3, oldest: 4})
    assert fleet.assign() == 2
    claimed = host.claim_several()
    assert [assignment.task_id for assignment in claimed] == [oldest, old]
    answer = host.report(claimed[0], "done", next_claim=host.claim_request("A", "B").model_dump())
    assert answer.claimed
    assert answer.claimed.assignment
    assert answer.claimed.assignment.task_id == middle


def test_tasks_that_no_device_suits_do_not_stand_in_the_way(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(3):
        fleet.submit(priority=100, requires=[{"label": "model", "value": "Pixel 99"}])
    possible = fleet.submit(requires=[{"label": "model", "op": "in", "value": ["Pixel 7", "Pixel 8"]}])
    assert fleet.assign() == 1
    assignment = host.claim()
    assert assignment is not None
    assert assignment.task_id == possible


def test_a_queued_task_says_what_it_waits_for(fleet: Fleet) -> None:
    wanted = [
        {"label": "model", "value": "Pixel 99"},
        {"label": "android_version", "op": "in", "value": ["98", "99"]},
        {"label": "sim", "op": "exists"},
    ]
    nowhere = fleet.submit(requires=wanted)
    assert "no device is known" in (fleet.show(nowhere).waiting_reason or "")
    host = fleet.host()
    assert "model=Pixel 99, android_version in 98, 99, has sim" in (fleet.show(nowhere).waiting_reason or "")
    fleet.running(host)
    waiting = fleet.submit()
    assert "busy" in (fleet.show(waiting).waiting_reason or "")


def test_progress_is_shown_while_it_runs_and_kept_when_it_ends(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.renew(assignment, progress={"step": 2, "steps_total": 5, "text": "tapOn Login"})
    shown = fleet.show(assignment.task_id).progress
    assert shown is not None
    assert (shown.step, shown.steps_total) == (2, 5)
    host.report(assignment, "done")
    kept = fleet.show(assignment.task_id).progress
    assert kept is not None
    assert kept.text == "tapOn Login"
