"""The next task, in the answer to a report."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from control.domain.errors import ResultConflict, StaleLease
from control.operations.assign import assign_tasks
from control.operations.cancels import settle_cancels
from control.operations.hosts import request_drain
from control.operations.plane import Job
from control.signals.words import LeaseOf
from control.store import claims
from control.store.database import Database
from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import Assignment, ClaimRequest, TerminalResultResponse
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from corral.failpoints import on
from tests.control.fleet import Fleet, Host
from tests.control.together import at_once, until_somebody_waits


@pytest.fixture
def host(fleet: Fleet) -> Host:
    return fleet.host()


def report(
    host: Host, assignment: Assignment, status: str = "done", *, claim: ClaimRequest | None = None, **more: Any
) -> TerminalResultResponse:
    asked = claim or host.claim_request(assignment.device_serial)
    return host.report(assignment, status, next_claim=asked.model_dump(mode="json"), **more)


def given(answer: TerminalResultResponse) -> UUID | None:
    assert answer.claimed is not None
    return answer.claimed.assignment.task_id if answer.claimed.assignment else None


def test_the_first_task_that_suits_the_device_comes_with_the_answer(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    fleet.submit(requires=[{"label": "serial", "value": "ANOTHER"}], priority=9)
    fleet.submit(priority=1)
    urgent = fleet.submit(requires=[{"label": "model", "value": "Pixel 8"}], priority=5)
    answer = report(host, running)
    assert (answer.status, answer.task_status, given(answer)) == ("recorded", "done", urgent)
    assert answer.claimed is not None
    following = answer.claimed.assignment
    assert following is not None
    assert (following.attempt, following.device_serial, answer.claimed.held_ms) == (1, "PHONE1", 0)
    assert fleet.kinds(urgent) == ["queued", "assigned", "dispatched"]
    assert fleet.show(urgent).host_id == host.host_id
    assert host.renew(following) is False
    assert fleet.assign() == 0


def test_only_an_answer_without_a_task_rings_for_one(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    fleet.submit()
    rung = fleet.plane.doorbell.rung
    rung.clear()
    answer = report(host, running)
    assert rung == []
    assert answer.claimed is not None
    assert answer.claimed.assignment is not None
    assert given(report(host, answer.claimed.assignment)) is None
    assert rung == [Job.ASSIGN_TASKS]


def test_the_same_report_again_is_given_the_same_task_renewed(fleet: Fleet, host: Host, database: Database) -> None:
    running = fleet.running(host)
    following, other = fleet.submit(), fleet.submit()
    claim = host.claim_request()
    first = report(host, running, claim=claim)
    with database.transaction() as tx:
        tx.run("UPDATE leases SET expires_at = expires_at - interval '20 seconds'")
    fleet.cancel(following)
    again = report(host, running, claim=claim, progress={"step": 7})
    assert (again.status, given(first), given(again)) == ("already_recorded", following, following)
    assert first.claimed is not None
    assert again.claimed is not None
    assert first.claimed.assignment is not None
    assert again.claimed.assignment is not None
    assert again.claimed.assignment.lease_id == first.claimed.assignment.lease_id
    assert again.claimed.assignment.lease_expires_at > first.claimed.assignment.lease_expires_at
    assert again.claimed.assignment.cancel_requested
    assert fleet.show(other).status is TaskStatus.QUEUED


def test_a_repeat_that_was_given_nothing_before_is_given_nothing(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    host.report(running, "done")
    task_id = fleet.submit()
    assert given(report(host, running)) is None
    assert fleet.show(task_id).status is TaskStatus.QUEUED


def test_two_deliveries_of_one_report_at_once_hand_out_one_task(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    for _ in range(8):
        task_id, other = fleet.submit(priority=1), fleet.submit()
        claim = host.claim_request()
        answers = at_once(*[lambda run=running, claim=claim: report(host, run, claim=claim)] * 2)
        assert sorted(answer.status for answer in answers) == ["already_recorded", "recorded"]
        assert [given(answer) for answer in answers] == [task_id, task_id]
        assert fleet.show(other).status is TaskStatus.QUEUED
        fleet.cancel(other)
        running = answers[0].claimed.assignment


def test_a_report_and_a_poll_under_one_claim_id_at_once_are_one_claim(fleet: Fleet, database: Database) -> None:
    host = fleet.host("A", "B")
    fleet.submit(requires=[{"label": "serial", "value": "A"}])
    running = fleet.running(host)
    fleet.submit(requires=[{"label": "serial", "value": "B"}])
    fleet.assign()
    fleet.submit(requires=[{"label": "serial", "value": "A"}])
    claim = host.claim_request("A", "B")
    with ThreadPoolExecutor(2) as elsewhere:
        with database.transaction() as tx:
            tx.run("SELECT 1 FROM hosts FOR UPDATE")
            polled = elsewhere.submit(host.claim, claim_id=claim.claim_id)
            until_somebody_waits(database)
            reported = elsewhere.submit(report, host, running, claim=claim)
            until_somebody_waits(database, how_many=2)
        poll, answer = polled.result(10), reported.result(10)
    assert answer.status == "recorded"
    assert poll is not None
    assert given(answer) == poll.task_id


def drain(fleet: Fleet, host: Host) -> None:
    request_drain(fleet.plane, host.host_id, draining=True)


def begin_to_drain(_fleet: Fleet, host: Host) -> None:
    host.beat(draining=True)


def go_offline(fleet: Fleet, _host: Host) -> None:
    with fleet.plane.database.transaction() as tx:
        tx.run("UPDATE hosts SET is_online = false")


def unplug(_fleet: Fleet, host: Host) -> None:
    host.beat(state=DeviceState.OFFLINE)


@pytest.mark.parametrize("happens", [drain, begin_to_drain, go_offline, unplug])
def test_a_host_or_device_that_takes_no_tasks_has_its_report_recorded_and_no_more(
    fleet: Fleet, host: Host, happens: Callable[[Fleet, Host], None]
) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    happens(fleet, host)
    answer = report(host, running)
    assert (answer.task_status, given(answer)) == ("done", None)
    assert fleet.show(task_id).status is TaskStatus.QUEUED


def test_a_draining_host_still_hears_what_its_lost_answer_gave(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    claim = host.claim_request()
    report(host, running, claim=claim)
    drain(fleet, host)
    assert given(report(host, running, claim=claim.model_copy(update={"free_devices": []}))) == task_id


def test_a_claim_of_a_former_life_is_not_looked_at(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    claim = host.claim_request().model_copy(update={"incarnation": uuid7()})
    answer = report(host, running, claim=claim)
    assert (answer.status, given(answer)) == ("recorded", None)
    assert fleet.show(task_id).status is TaskStatus.QUEUED


def test_a_claim_for_another_device_than_the_freed_one_is_given_nothing(fleet: Fleet) -> None:
    host = fleet.host("PHONE1", "PHONE2")
    running = fleet.running(host, requires=[{"label": "serial", "value": "PHONE1"}])
    fleet.submit()
    assert given(report(host, running, claim=host.claim_request("PHONE2"))) is None


def test_a_refused_report_claims_nothing(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    host.report(running, "done", result={"n": 1})
    with pytest.raises(ResultConflict):
        report(host, running, result={"n": 2})
    with pytest.raises(StaleLease):
        report(host, running.model_copy(update={"lease_id": uuid7()}))
    assert fleet.show(task_id).status is TaskStatus.QUEUED


def test_a_device_that_failed_under_a_run_is_given_no_other_at_once(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    fleet.plane.doorbell.rung.clear()
    answer = report(host, running, "failed", cause="infrastructure")
    assert (answer.task_status, given(answer)) == ("queued", None)
    assert fleet.show(task_id).status is TaskStatus.QUEUED
    assert fleet.plane.doorbell.rung == [Job.ASSIGN_TASKS]


def test_a_cancelled_or_failed_run_makes_room_for_the_next_as_well(fleet: Fleet, host: Host) -> None:
    running = fleet.running(host)
    fleet.cancel(running.task_id)
    following, last = fleet.submit(), fleet.submit()
    answer = report(host, running, "cancelled")
    assert (answer.task_status, given(answer)) == ("cancelled", following)
    assert answer.claimed is not None
    assert answer.claimed.assignment is not None
    answer = report(host, answer.claimed.assignment, "failed", cause="task")
    assert (answer.task_status, given(answer)) == ("failed", last)


def test_a_queue_of_very_many_kinds_is_left_to_the_pass(
    fleet: Fleet, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MAX_CLASSES", 2)
    monkeypatch.setattr("control.operations.results.MAX_CLASSES", 2)
    running = fleet.running(host)
    fleet.submit()
    for label in ("a", "b"):
        fleet.submit(requires=[{"label": label, "op": "exists"}])
    assert given(report(host, running)) is None
    assert fleet.assign() == 1


@pytest.mark.parametrize("order", ["cancel first", "claim first"])
def test_a_cancel_beside_the_next_claim_is_never_lost(fleet: Fleet, host: Host, order: str) -> None:
    running = fleet.running(host)
    task_id = fleet.submit()
    answers: list[TerminalResultResponse] = []
    if order == "cancel first":
        with on("cancel.committed", lambda: answers.append(report(host, running))):
            fleet.cancel(task_id)
        assert given(answers[0]) is None
        assert fleet.show(task_id).status is TaskStatus.CANCELLED
    else:
        with on("result.committed", lambda: fleet.cancel(task_id) and None):
            answer = report(host, running)
        assert answer.claimed is not None
        assert answer.claimed.assignment is not None
        assert host.renew(answer.claimed.assignment) is True


def test_a_task_that_somebody_is_cancelling_or_assigning_is_passed_over(
    fleet: Fleet, host: Host, database: Database
) -> None:
    running = fleet.running(host)
    held, free = fleet.submit(priority=1), fleet.submit()
    with database.transaction() as tx:
        tx.run("SELECT 1 FROM scheduled_tasks WHERE task_id = :held FOR UPDATE", held=held)
        assert given(report(host, running)) == free


def test_reports_with_claims_beside_passes_and_cancels_book_nothing_twice(fleet: Fleet) -> None:
    hosts = [fleet.host(f"A{number}", f"B{number}", name=f"host{number}") for number in range(3)]
    running: list[tuple[Host, Assignment]] = []
    asked: list[UUID] = []
    for _ in range(4):
        tasks = [fleet.submit() for _ in range(6)]
        settle_cancels(fleet.plane)
        fleet.assign()
        running += [(host, one) for host in hosts for one in host.claim_several()]
        assert len({one.device_serial for _, one in running}) == len(running) == 6
        answers = at_once(
            *[lambda host=host, one=one: report(host, one) for host, one in running],
            lambda: assign_tasks(fleet.plane),
            *[lambda task=task: fleet.cancel(task) for task in tasks[:3]],
        )
        asked += tasks[:3]
        reported = zip(running, answers[:6], strict=True)
        running = [(host, answer.claimed.assignment) for (host, _), answer in reported if answer.claimed.assignment]
    for host, one in running:
        is_cancelled = host.renew(one)
        assert is_cancelled == (one.task_id in asked and fleet.show(one.task_id).cancel_requested_at is not None)
        host.report(one, "cancelled" if is_cancelled else "done")
    for task in asked:
        shown = fleet.show(task)
        assert shown.status.is_terminal or shown.cancel_requested_at is not None


@pytest.mark.parametrize("is_claiming", [True, False])
def test_whoever_answers_renewals_is_told_that_the_lease_is_over(fleet: Fleet, host: Host, is_claiming: bool) -> None:
    running = fleet.running(host)
    answers = [report(host, running) if is_claiming else host.report(running, "done") for _ in range(2)]
    assert [answer.status for answer in answers] == ["recorded", "already_recorded"]
    assert fleet.plane.wakeups.over == [LeaseOf(host.host_id, running.lease_id)]
