"""A cancel in every state, and what the receipt tells of it."""

import pytest

from control.domain.errors import StaleLease
from control.operations.cancel import CancellationRequestStatus
from control.operations.cancels import settle_cancels
from control.operations.hosts import mark_silent_hosts_offline
from control.operations.plane import Job
from control.operations.reap import reap_expired_leases
from control.store.database import Database
from corral.contract.cancellation import CancellationOutcome, CancellationReceipt, StoppedBy
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet

Status = CancellationRequestStatus


def receipt(fleet: Fleet, task_id: object) -> CancellationReceipt:
    found = fleet.show(task_id).cancellation  # type: ignore[arg-type]
    assert found is not None
    return found


def test_an_unknown_task_is_not_found_and_nothing_is_stored(fleet: Fleet, database: Database) -> None:
    assert fleet.cancel(uuid7()).request_status is Status.NOT_FOUND
    with database.transaction() as tx:
        assert tx.value("SELECT count(*) FROM task_events") == 0


def test_a_queued_task_is_cancelled_at_once(fleet: Fleet) -> None:
    task_id = fleet.submit()
    answer = fleet.cancel(task_id, reason="wrong build")
    assert (answer.request_status, answer.task_status) == (Status.REQUESTED, TaskStatus.CANCELLED)
    story = receipt(fleet, task_id)
    assert (story.outcome, story.stopped_by, story.reason) == (
        CancellationOutcome.CANCELLED,
        StoppedBy.BEFORE_START,
        "wrong build",
    )
    fleet.host()
    assert fleet.assign() == 0


def test_an_assigned_task_stays_and_is_settled_by_the_job_that_was_rung(fleet: Fleet) -> None:
    host = fleet.host()
    task_id = fleet.submit()
    fleet.assign()
    answer = fleet.cancel(task_id)
    assert (answer.request_status, answer.task_status) == (Status.REQUESTED, TaskStatus.ASSIGNED)
    assert fleet.plane.doorbell.rung[-1] is Job.SETTLE_CANCELS
    assert host.claim() is None, "a task with a pending cancel is never handed out"
    assert settle_cancels(fleet.plane) == 1
    shown = fleet.show(task_id)
    assert (shown.status, shown.cancel_requested_at) == (TaskStatus.CANCELLED, None)
    assert receipt(fleet, task_id).stopped_by is StoppedBy.BEFORE_START


def test_a_running_task_hears_of_it_in_every_renewal_until_it_ends(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    answer = fleet.cancel(assignment.task_id, reason="enough")
    assert (answer.request_status, answer.task_status) == (Status.REQUESTED, TaskStatus.DISPATCHED)
    shown = fleet.show(assignment.task_id)
    assert shown.is_cancelling
    assert shown.cancel_reason == "enough"
    assert receipt(fleet, assignment.task_id).outcome is CancellationOutcome.PENDING
    assert [host.renew(assignment) for _ in range(3)] == [True] * 3
    assert receipt(fleet, assignment.task_id).delivered_at is not None
    assert receipt(fleet, assignment.task_id).seen_at is None
    host.renew(assignment, cancel_seen=True)
    host.report(assignment, "cancelled", stopped_by="step_boundary")
    story = receipt(fleet, assignment.task_id)
    assert (story.outcome, story.stopped_by, story.confirmed) == (
        CancellationOutcome.CANCELLED,
        StoppedBy.STEP_BOUNDARY,
        True,
    )
    assert story.seen_at is not None
    assert fleet.kinds(assignment.task_id) == [
        *("queued", "assigned", "dispatched"),
        *("cancel_requested", "cancel_delivered", "cancel_seen", "cancelled"),
    ]


def test_asking_again_changes_nothing_and_answers_with_the_first_request(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    first = fleet.cancel(assignment.task_id, reason="first", actor="key:anna")
    again = fleet.cancel(assignment.task_id, reason="second", actor="key:ben")
    assert again.request_status is Status.ALREADY_REQUESTED
    assert first.response is not None
    assert again.response == first.response
    assert receipt(fleet, assignment.task_id).requested_by == "key:anna"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_task_that_ended_by_itself_is_already_terminal(fleet: Fleet, status: str) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, status)
    answer = fleet.cancel(assignment.task_id)
    assert (answer.request_status, answer.task_status) == (Status.ALREADY_TERMINAL, TaskStatus(status))
    assert fleet.show(assignment.task_id).cancellation is None


def test_a_cancelled_task_answers_with_its_receipt(fleet: Fleet) -> None:
    task_id = fleet.submit()
    fleet.cancel(task_id, reason="once")
    answer = fleet.cancel(task_id, reason="twice")
    assert (answer.request_status, answer.task_status) == (Status.ALREADY_TERMINAL, TaskStatus.CANCELLED)
    assert answer.response is not None
    assert answer.response.cancel_reason == "once"


@pytest.mark.parametrize(("status", "more"), [("done", {}), ("failed", {"cause": "task", "failure_reason": "step 4"})])
def test_an_end_of_its_own_wins_over_a_pending_cancel(fleet: Fleet, status: str, more: dict[str, str]) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    fleet.cancel(assignment.task_id)
    host.report(assignment, status, **more)
    shown = fleet.show(assignment.task_id)
    assert (shown.status, shown.cancel_requested_at) == (TaskStatus(status), None)
    assert receipt(fleet, assignment.task_id).outcome is CancellationOutcome.TOO_LATE


def test_an_infrastructure_failure_under_a_pending_cancel_ends_cancelled(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host, max_attempts=5)
    fleet.cancel(assignment.task_id)
    host.report(assignment, "failed", cause="infrastructure", failure_reason="usb")
    assert fleet.show(assignment.task_id).status is TaskStatus.CANCELLED


def test_a_task_whose_host_died_while_cancelling_ends_cancelled_by_the_reaper(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host, max_attempts=5)
    fleet.cancel(assignment.task_id)
    fleet.expire(assignment)
    reap_expired_leases(fleet.plane)
    story = receipt(fleet, assignment.task_id)
    assert (story.outcome, story.stopped_by, story.confirmed) == (
        CancellationOutcome.CANCELLED,
        StoppedBy.REAPER,
        False,
    )


def test_a_host_that_restarts_under_a_pending_cancel_lets_the_task_end_cancelled(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host, max_attempts=5)
    fleet.cancel(assignment.task_id)
    host.restart()
    story = receipt(fleet, assignment.task_id)
    assert (story.outcome, story.confirmed) == (CancellationOutcome.CANCELLED, True)
    with pytest.raises(StaleLease):
        host.renew(assignment)


def test_a_silent_hosts_cancelled_assignment_is_not_requeued(fleet: Fleet, database: Database) -> None:
    fleet.host()
    task_id, other = fleet.submit(), fleet.submit()
    fleet.assign()
    fleet.cancel(task_id)
    fleet.api_has_been_up()
    with database.transaction() as tx:
        tx.run("UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes'")
    assert mark_silent_hosts_offline(fleet.plane) == 1
    assert fleet.show(task_id).status is TaskStatus.CANCELLED
    assert fleet.show(other).status is TaskStatus.QUEUED


def test_a_cancel_does_not_extend_a_lease(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    with database.transaction() as tx:
        before = tx.value("SELECT expires_at FROM leases")
    fleet.cancel(assignment.task_id)
    with database.transaction() as tx:
        assert tx.value("SELECT expires_at FROM leases") == before
