"""Two at once, in both orders and many times: one of them wins, and each is told the truth."""

import os
import random
from functools import partial
from typing import Any

from control.domain.errors import Refusal
from control.operations.assign import assign_tasks
from control.operations.cancel import CancellationRequestStatus
from control.operations.cancels import settle_cancels
from control.operations.reap import reap_expired_leases
from control.operations.submit import submit_task
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskSubmission
from tests.control.fleet import FLOW, SUBMITTER, Fleet
from tests.control.together import at_once

#: `CORRAL_STORM_TASKS=500` for a longer look than the suite has time for.
STORM_TASKS = int(os.environ.get("CORRAL_STORM_TASKS", "120"))
TERMINAL_KINDS = {"done", "failed", "cancelled"}


def ends_once(fleet: Fleet, task_id: Any) -> TaskStatus:
    kinds = fleet.kinds(task_id)
    assert sum(kind in TERMINAL_KINDS for kind in kinds) == 1, kinds
    return fleet.show(task_id).status


def statuses_of_tasks_that_ended_once(fleet: Fleet) -> dict[Any, TaskStatus]:
    with fleet.plane.database.transaction() as tx:
        rows = tx.rows(
            """
            SELECT task_id, task.status, count(event_id) AS ends FROM scheduled_tasks AS task
            LEFT JOIN task_events AS event USING (task_id)
            WHERE event.kind IN ('task.done', 'task.failed', 'task.cancelled') GROUP BY task_id
            """
        )
    assert all(row["ends"] == 1 for row in rows)
    return {row["task_id"]: TaskStatus(row["status"]) for row in rows}


def test_ten_cancels_at_once_are_one_request(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    answers = at_once(*[lambda: fleet.cancel(assignment.task_id)] * 10)
    statuses = [answer.request_status for answer in answers]
    assert statuses.count(CancellationRequestStatus.REQUESTED) == 1
    assert statuses.count(CancellationRequestStatus.ALREADY_REQUESTED) == 9
    assert len({answer.response.cancel_requested_at for answer in answers}) == 1
    assert fleet.kinds(assignment.task_id).count("cancel_requested") == 1


def test_a_cancel_in_the_same_instant_as_the_result_ends_the_task_once(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(12):
        assignment = fleet.running(host)
        cancelled, reported = at_once(
            lambda task_id=assignment.task_id: fleet.cancel(task_id),
            lambda assignment=assignment: host.report(assignment, "done"),
        )
        assert reported.status == "recorded"
        assert ends_once(fleet, assignment.task_id) is TaskStatus.DONE
        assert cancelled.request_status in {
            CancellationRequestStatus.REQUESTED,
            CancellationRequestStatus.ALREADY_TERMINAL,
        }


def test_a_cancel_in_the_same_instant_as_the_claim_is_never_lost(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(12):
        task_id = fleet.submit()
        fleet.assign()
        _, assignment = at_once(lambda task_id=task_id: fleet.cancel(task_id), host.claim)
        if assignment is None:
            settle_cancels(fleet.plane)
        else:
            assert host.renew(assignment) is True
            host.report(assignment, "cancelled", stopped_by="before_start")
        assert ends_once(fleet, task_id) is TaskStatus.CANCELLED


def test_a_cancel_in_the_same_instant_as_the_assignment_is_never_lost(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(12):
        task_id = fleet.submit()
        at_once(lambda task_id=task_id: fleet.cancel(task_id), fleet.assign)
        settle_cancels(fleet.plane)
        assert host.claim() is None
        assert ends_once(fleet, task_id) is TaskStatus.CANCELLED


def test_the_reaper_in_the_same_instant_as_the_result_decides_once(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(12):
        assignment = fleet.running(host, max_attempts=1)
        fleet.expire(assignment)
        reaped, reported = at_once(
            lambda: reap_expired_leases(fleet.plane), lambda assignment=assignment: host.report(assignment, "done")
        )
        status = ends_once(fleet, assignment.task_id)
        assert status is (TaskStatus.FAILED if reaped else TaskStatus.DONE)
        assert isinstance(reported, Refusal) == bool(reaped)


def test_the_reaper_in_the_same_instant_as_a_renewal_decides_once(fleet: Fleet) -> None:
    host = fleet.host()
    for _ in range(10):
        assignment = fleet.running(host, max_attempts=1)
        fleet.expire(assignment)
        reaped, renewed = at_once(
            lambda: reap_expired_leases(fleet.plane), lambda assignment=assignment: host.renew(assignment)
        )
        assert isinstance(renewed, Refusal) == bool(reaped)
        if not reaped:
            host.report(assignment, "done")


def test_many_passes_at_once_never_book_a_device_twice(fleet: Fleet) -> None:
    hosts = [fleet.host(f"A{number}", f"B{number}", name=f"host{number}") for number in range(4)]
    tasks = [fleet.submit() for _ in range(20)]
    assert sum(at_once(*[lambda: assign_tasks(fleet.plane)] * 6)) == 8
    claims = at_once(*[host.claim for host in hosts for _ in range(3)])
    taken = [claim for claim in claims if claim is not None]
    assert len(taken) == 8
    assert len({claim.task_id for claim in taken}) == 8
    assert sum(fleet.show(task).status is TaskStatus.QUEUED for task in tasks) == 12


def test_the_same_claim_id_in_two_requests_at_once_takes_one_task(fleet: Fleet) -> None:
    host = fleet.host("PHONE1", "PHONE2")
    for _ in range(12):
        fleet.submit()
        fleet.submit()
        fleet.assign()
        claim_id = uuid7()
        first, second = at_once(*[lambda claim_id=claim_id: host.claim(claim_id=claim_id)] * 2)
        assert first.lease_id == second.lease_id
        other = host.claim()
        assert other is not None
        for assignment in (first, other):
            host.report(assignment, "done")


def test_the_same_idempotency_key_at_once_makes_one_task(fleet: Fleet) -> None:
    submission = TaskSubmission.model_validate({"kind": "flow", "flow": FLOW})
    for number in range(10):
        key = f"key-{number}"
        submit = partial(submit_task, fleet.plane, submission, principal=SUBMITTER, idempotency_key=key)
        answers = at_once(*[submit] * 4)
        assert len({answer.task.task_id for answer in answers}) == 1
        assert sum(not answer.is_replay for answer in answers) == 1


def test_many_tasks_cancelled_at_random_moments_all_end_and_none_is_lost(fleet: Fleet) -> None:
    chance = random.Random(20261130)  # noqa: S311 - a repeatable order, not a secret
    hosts = [fleet.host(*(f"H{host}D{device}" for device in range(5)), name=f"host{host}") for host in range(4)]
    tasks = [fleet.submit(max_attempts=3) for _ in range(STORM_TASKS)]
    asked = {task for task in tasks if chance.random() < 0.6}
    order = sorted(asked, key=lambda _: chance.random())

    def cancel_all() -> None:
        for task in order:
            fleet.cancel(task)

    def work(host: Any) -> None:
        while assignment := host.claim() or (assign_tasks(fleet.plane) and host.claim()):
            seen = host.renew(assignment, cancel_seen=False)
            host.report(assignment, "cancelled" if seen else chance.choice(["done", "failed"]))

    at_once(cancel_all, *[lambda host=host: work(host) for host in hosts])
    settle_cancels(fleet.plane)
    for host in hosts:
        work(host)
    statuses = statuses_of_tasks_that_ended_once(fleet)
    assert statuses.keys() == set(tasks)
    assert all(status.is_terminal for status in statuses.values())
    assert all(statuses[task] is not TaskStatus.CANCELLED for task in tasks if task not in asked)
    assert sum(status is TaskStatus.CANCELLED for status in statuses.values()) > STORM_TASKS / 10
