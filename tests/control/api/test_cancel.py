"""Cancelling over HTTP: one test for each state in which the request can find a task."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.control.api.calls import problem
from tests.control.fleet import Fleet


def cancel(api: httpx.Client, user: dict[str, str], task_id: object, body: Any = None) -> Any:
    return api.post(f"/v1/tasks/{task_id}/cancel", headers=user, **({"json": body} if body is not None else {}))


def test_an_unknown_task_is_not_found_and_nothing_is_stored(api: httpx.Client, user: dict[str, str]):
    task_id = uuid4()
    problem(cancel(api, user, task_id), 404, "task_not_found")
    problem(api.get(f"/v1/tasks/{task_id}", headers=user), 404, "task_not_found")


def test_a_queued_task_is_cancelled_at_once(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.submit()
    answer = cancel(api, user, task_id, {"reason": "a typo in the flow"})
    assert answer.status_code == 200
    assert answer.json()["status"] == "cancelled"
    assert answer.json()["cancel_reason"] == "a typo in the flow"
    assert answer.json()["cancellation"]["stopped_by"] == "before_start"
    assert api.get(f"/v1/tasks/{task_id}", headers=user).json()["cancellation"]["requested_by"] == "key:tests"


def test_an_assigned_task_is_asked_to_stop(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    fleet.host()
    task_id = fleet.submit()
    fleet.assign()
    answer = cancel(api, user, task_id)
    assert answer.status_code == 202
    assert answer.json()["status"] == "assigned"
    assert answer.json()["cancel_requested_at"]


def test_a_dispatched_task_is_asked_to_stop(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.running(fleet.host()).task_id
    answer = cancel(api, user, task_id)
    assert answer.status_code == 202
    assert answer.json()["status"] == "dispatched"
    shown = api.get(f"/v1/tasks/{task_id}", headers=user).json()
    assert shown["is_cancelling"] is True
    assert shown["cancellation"]["outcome"] == "pending"


def test_asking_again_answers_with_the_first_request(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.running(fleet.host()).task_id
    first = cancel(api, user, task_id, {"reason": "first"}).json()
    again = cancel(api, user, task_id, {"reason": "second"})
    assert again.status_code == 200
    assert again.json() == first
    assert again.json()["cancel_reason"] == "first"


def test_a_cancelled_task_answers_with_its_first_request(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.submit()
    first = cancel(api, user, task_id, {"reason": "first"}).json()
    again = cancel(api, user, task_id)
    assert again.status_code == 200
    assert again.json() == first


@pytest.mark.parametrize("body", [b'{"reason": tru}', b"{", b"\xff", b'{"reason": "a", "reason": "b"}', b"[]", b'""'])
def test_a_body_that_is_no_json_cancels_nothing(api: httpx.Client, user: dict[str, str], fleet: Fleet, body: bytes):
    task_id = fleet.submit()
    headers = {**user, "Content-Type": "application/json"}
    problem(api.post(f"/v1/tasks/{task_id}/cancel", content=body, headers=headers), 422, "invalid_request")
    assert fleet.kinds(task_id) == ["queued"]


@pytest.mark.parametrize("ending", ["done", "failed"])
def test_a_task_that_ended_by_itself_is_a_conflict_with_its_status(
    api: httpx.Client, user: dict[str, str], fleet: Fleet, ending: str
):
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, ending)
    document = problem(cancel(api, user, assignment.task_id), 409, "task_already_terminal")
    assert document["context"]["task_status"] == ending
    assert "already terminal" in document["detail"]


def test_ten_cancels_at_once_are_one_request(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.running(fleet.host()).task_id
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda n: cancel(api, user, task_id, {"reason": f"number {n}"}), range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert len({answer.text for answer in answers}) == 1
    assert fleet.kinds(task_id).count("cancel_requested") == 1
