"""Processes are killed at the worst moments: no request is lost, no result, and nothing is stuck."""

from contextlib import suppress

import pytest

from corral.client.errors import Unreachable
from corral.contract.cancellation import StoppedBy
from corral.contract.history import AttemptStatus
from corral.contract.task_status import TaskStatus
from tests.journeys.conftest import Site
from tests.journeys.lab import ENDLESS, SHORT, Lab, actions_after, eventually

A, B = "rack-a", "rack-b"


def test_a_cancel_outlives_the_api_that_took_it(lab: Lab) -> None:
    task_id = lab.submit(ENDLESS, host=A)
    lab.until_step(task_id, 2)
    lab.corral.cancel(task_id, reason="before the crash")
    lab.program("api").kill()
    lab.start_api()
    task = lab.ended(task_id)
    assert task.status is TaskStatus.CANCELLED
    assert task.cancellation is not None
    assert (task.cancellation.reason, task.cancellation.confirmed) == ("before the crash", True)


def test_a_task_whose_host_died_while_cancelling_ends_cancelled(lab: Lab) -> None:
    task_id = lab.submit(ENDLESS, host=B, max_attempts=5)
    lab.until_step(task_id, 1)
    lab.program(B).kill()
    lab.corral.cancel(task_id)
    task = lab.ended(task_id)
    assert task.status is TaskStatus.CANCELLED
    assert "requeued" not in lab.kinds(task_id)
    assert task.cancellation is not None
    assert (task.cancellation.stopped_by, task.cancellation.confirmed) == (StoppedBy.REAPER, False)


def test_a_host_that_died_and_came_back_while_cancelling_lets_the_task_end_cancelled(lab: Lab) -> None:
    task_id = lab.submit(ENDLESS, host=B, max_attempts=5)
    lab.until_step(task_id, 1)
    lab.program(B).kill()
    lab.corral.cancel(task_id)
    lab.program(B).start()
    assert lab.ended(task_id).status is TaskStatus.CANCELLED
    assert "requeued" not in lab.kinds(task_id)


def test_a_task_whose_host_died_runs_again(lab: Lab) -> None:
    task_id = lab.submit(ENDLESS, host=B)
    lab.until_step(task_id, 1)
    lab.program(B).kill()
    lab.program(B).start()
    eventually(lambda: lab.corral.get(task_id).attempt == 2, what="attempt 2")
    lab.until_step(task_id, 1)
    lab.corral.cancel(task_id)
    assert lab.ended(task_id).status is TaskStatus.CANCELLED
    statuses = [attempt.status for attempt in lab.corral.attempts(task_id)]
    assert statuses == [AttemptStatus.EXPIRED, AttemptStatus.CANCELLED]


@pytest.mark.parametrize("place", ["result.spooled", "result.acknowledged"])
def test_a_report_that_was_saved_before_the_crash_is_recorded_once(site: Site, place: str) -> None:
    lab, host = site.lab, site.lab.program(B)
    host.stop()
    host.start(CORRAL_FAILPOINTS=f"{place}=exit")
    lab.wait_for_devices(B, 3)
    task_id = lab.submit(SHORT, host=B)
    assert host.wait() == 137
    # What is proven is that the report is recorded; on a busy machine a host may need a lease's time to start.
    lab.extend_lease(task_id, seconds=30)
    host.start()
    task = lab.ended(task_id)
    assert (task.status, task.attempt) == (TaskStatus.DONE, 1)
    assert lab.kinds(task_id).count("done") == 1
    assert [attempt.status for attempt in lab.corral.attempts(task_id)] == [AttemptStatus.DONE]


def test_a_claim_whose_reply_was_lost_is_answered_again(lab: Lab) -> None:
    api = lab.program("api")
    api.stop()
    lab.start_api(CORRAL_FAILPOINTS="claim.committed=exit")
    lab.wait_for_devices(A, 3)
    with suppress(Unreachable):
        # The claim that ends the API may be faster than the answer to this.
        lab.submit(SHORT, host=A, batch_id="lost-reply")
    assert api.wait() == 137
    lab.start_api()
    (submitted,) = lab.corral.page(batch_id="lost-reply").tasks
    task = lab.ended(submitted.task_id)
    assert (task.status, task.attempt) == (TaskStatus.DONE, 1)


def test_a_host_that_is_told_to_end_finishes_nothing_silently(site: Site) -> None:
    lab, host = site.lab, site.lab.program(B)
    task_id = lab.submit(ENDLESS, host=B, max_attempts=1)
    lab.until_step(task_id, 1)
    host.stop()
    task = lab.ended(task_id)
    assert task.status is TaskStatus.FAILED
    assert "shut" in (task.failure_reason or "")
    assert task.finished_at is not None
    assert actions_after(site.phones[B], task.finished_at.timestamp()) == []


def test_with_jobs_and_beat_dead_tasks_still_run_and_cancels_are_settled(lab: Lab) -> None:
    lab.program("beat").kill()
    lab.program("jobs").kill()
    assert lab.ended(lab.submit(SHORT, host=A), limit_seconds=60).status is TaskStatus.DONE
