import pytest

from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import TASK_ID, FakeApi, cancellation, problem, receipt, task

PATH = f"/v1/tasks/{TASK_ID}"


def test_a_queued_task_is_cancelled_at_once(of_api: Corral, api: FakeApi) -> None:
    api.answer("POST", f"{PATH}/cancel", (200, cancellation("cancelled", "cancelled")))
    ran = of_api("cancel", TASK_ID, "--reason", "wrong build")
    assert (ran.code, ran.out.strip()) == (0, "cancelled: it will not run")
    assert api.requests[0].body == {"reason": "wrong build"}


def test_a_task_that_ran_and_was_cancelled_before_is_not_said_to_have_never_run(of_api: Corral, api: FakeApi) -> None:
    answer = cancellation("cancelled", "cancelled")
    answer["cancellation"]["stopped_by"] = "step_boundary"
    api.answer("POST", f"{PATH}/cancel", (200, answer))
    assert of_api("cancel", TASK_ID).out.strip() == "cancelled: it had stopped before"


def test_a_running_task_is_cancelling_and_not_yet_cancelled(of_api: Corral, api: FakeApi) -> None:
    api.answer("POST", f"{PATH}/cancel", (202, cancellation("dispatched", "pending")))
    ran = of_api("cancel", TASK_ID)
    assert ran.code == 0
    assert ran.out.startswith("cancelling: its host is being told; it is still dispatched")
    assert f"corral watch {TASK_ID}" in ran.out


@pytest.mark.parametrize(("status", "outcome", "code"), [("cancelled", "cancelled", 0), ("done", "too_late", 1)])
def test_cancel_and_wait_says_what_came_of_it(
    of_api: Corral, api: FakeApi, status: str, outcome: str, code: int
) -> None:
    api.answer("POST", f"{PATH}/cancel", (202, cancellation("dispatched", "pending")))
    api.answer("GET", PATH, (200, task(status, cancellation=receipt(outcome))))
    api.answer("GET", f"{PATH}/events", (200, {"events": []}))
    ran = of_api("cancel", TASK_ID, "--wait")
    assert ran.code == code
    assert f"2.0 s after the cancel request ({outcome})" in ran.out


def test_a_task_that_has_ended_cannot_be_cancelled(of_api: Corral, api: FakeApi) -> None:
    told = problem("task_already_terminal", 409, "task is already terminal: done", context={"task_status": "done"})
    api.answer("POST", f"{PATH}/cancel", (409, told))
    assert of_api("cancel", TASK_ID).code == 4
    ran = of_api("cancel", TASK_ID, "--json")
    assert (ran.code, ran.out) == (4, "")
    assert ran.problem["context"] == {"task_status": "done"}
