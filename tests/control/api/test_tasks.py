"""Submitting tasks and looking at them over HTTP."""

from typing import Any

import httpx
import pytest

from tests.control.api.calls import SUBMISSION, problem
from tests.control.fleet import Fleet


def test_a_submitted_task_is_created_at_its_location(api: httpx.Client, user: dict[str, str]):
    answer = api.post("/v1/tasks", json={**SUBMISSION, "labels": {"team": "checkout"}}, headers=user)
    assert answer.status_code == 201
    assert answer.json()["status"] == "queued"
    assert api.get(answer.headers["location"], headers=user).json() == answer.json()


def test_the_same_idempotency_key_and_body_give_the_same_task(api: httpx.Client, user: dict[str, str]):
    headers = {**user, "Idempotency-Key": "nightly-1"}
    first = api.post("/v1/tasks", json=SUBMISSION, headers=headers)
    again = api.post("/v1/tasks", json=SUBMISSION, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["task_id"] == again.json()["task_id"]
    assert again.headers["location"] == first.headers["location"]


def test_the_same_idempotency_key_with_another_body_is_refused(api: httpx.Client, user: dict[str, str]):
    headers = {**user, "Idempotency-Key": "nightly-1"}
    api.post("/v1/tasks", json=SUBMISSION, headers=headers)
    other = api.post("/v1/tasks", json={**SUBMISSION, "priority": 5}, headers=headers)
    problem(other, 422, "idempotency_key_reused")


@pytest.mark.parametrize("unusable", ["", "two words", "x" * 201, "tab\there"])
def test_an_unusable_idempotency_key_is_named(api: httpx.Client, user: dict[str, str], unusable: str):
    answer = api.post("/v1/tasks", json=SUBMISSION, headers={**user, "Idempotency-Key": unusable})
    document = problem(answer, 422, "invalid_request")
    assert document["errors"][0]["location"] == "header.idempotency-key"


def test_a_flow_that_cannot_be_run_names_file_line_and_command(api: httpx.Client, user: dict[str, str]):
    flow = "appId: dev.corral.notes\n---\n- launchApp\n- tapOnn: Save\n"
    document = problem(api.post("/v1/tasks", json={"kind": "flow", "flow": flow}, headers=user), 422, "invalid_flow")
    assert document["context"]["line"] == 4
    assert "tapOnn" in document["detail"]
    assert document["errors"][0]["location"] == "body.flow"


def test_a_goal_is_submitted_with_all_that_its_agent_needs(api: httpx.Client, user: dict[str, str]):
    goal = {
        "kind": "goal",
        "goal": "Write a note that says hello.",
        "verify": "visible: Saved",
        "agent": {"model": "compatible:qwen/qwen3:8b", "secrets": ["PIN"], "max_steps": 9, "max_tokens": 9000},
    }
    task = api.post("/v1/tasks", json=goal, headers=user).json()
    assert (task["name"], task["goal"], task["verify"]) == (goal["goal"], goal["goal"], goal["verify"])
    assert task["agent"] == {**goal["agent"], "script": None}
    assert task["requires"] == [{"label": "agent", "op": "eq", "value": "compatible:qwen/qwen3:8b"}]
    assert "goal" not in api.get("/v1/tasks", headers=user).json()["tasks"][0]


@pytest.mark.parametrize(
    ("wrong", "code", "location", "line"),
    [
        ({"verify": "visible: Saved\nvisibel: A"}, "invalid_flow", "body.verify", 2),
        ({"agent": {"script": "- say: I look.\n- cals: tap"}}, "invalid_request", "body.agent.script", 2),
        ({"files": {"flow.yaml": "appId: a.b\n---\n- bakc"}}, "invalid_flow", "body.files.flow.yaml", 3),
        ({"env": {"true": "1"}}, "invalid_flow", "body.env", None),
        ({"agent": {"max_steps": 0}}, "invalid_request", "body.agent.max_steps", None),
        ({"agent": {"temperature": 1}}, "invalid_request", "body.agent.temperature", None),
        ({"flow": "appId: a.b"}, "invalid_request", "body", None),
    ],
)
def test_what_is_wrong_with_a_goal_is_said_with_its_place(
    api: httpx.Client, user: dict[str, str], wrong: dict[str, Any], code: str, location: str, line: int | None
):
    answer = api.post("/v1/tasks", json={"kind": "goal", "goal": "Write a note.", **wrong}, headers=user)
    document = problem(answer, 422, code)
    assert document["errors"][0]["location"] == location
    assert document["context"].get("line") == line


def test_tasks_are_listed_page_by_page_youngest_first(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    submitted = [fleet.submit(name=f"task {n}") for n in range(5)]
    # Three are of one age, and the first two are the youngest: as with ids that Celery makes.
    fleet.make_old(dict(zip(submitted, [1, 2, 3, 3, 3], strict=True)))
    listed: list[str] = []
    token: dict[str, str] = {}
    while True:
        page = api.get("/v1/tasks", params={"limit": 2, **token}, headers=user).json()
        listed += [task["task_id"] for task in page["tasks"]]
        if page["next_page_token"] is None:
            break
        token = {"page_token": page["next_page_token"]}
    assert listed == [str(submitted[place]) for place in (0, 1, 4, 3, 2)]


def test_filters_narrow_the_list(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    host = fleet.host()
    running = fleet.running(host, labels={"team": "checkout", "suite": "smoke"}, batch_id="nightly")
    fleet.cancel(running.task_id)
    queued = fleet.submit(labels={"team": "checkout"})
    cancelled = fleet.submit()
    fleet.cancel(cancelled)

    def listed(**params: Any) -> set[str]:
        answer = api.get("/v1/tasks", params=params, headers=user)
        assert answer.status_code == 200, answer.text
        return {task["task_id"] for task in answer.json()["tasks"]}

    device_id = api.get("/v1/devices", headers=user).json()["devices"][0]["device_id"]
    assert listed(status=["queued", "cancelled"]) == {str(queued), str(cancelled)}
    assert listed(cancelling=True) == {str(running.task_id)}
    assert listed(cancelling=False) == {str(queued), str(cancelled)}
    assert listed(label="team=checkout") == {str(running.task_id), str(queued)}
    assert listed(label=["team=checkout", "suite=smoke"]) == {str(running.task_id)}
    assert listed(host_id=str(host.host_id)) == {str(running.task_id)}
    assert listed(device_id=device_id) == {str(running.task_id)}
    assert listed(batch_id="nightly") == {str(running.task_id)}
    assert listed(batch_id="nightly", status="queued") == set()


@pytest.mark.parametrize(
    ("query", "location"),
    [
        ("status=sleeping", "query.status.0"),
        ("limit=0", "query.limit"),
        ("limit=201", "query.limit"),
        ("limit=many", "query.limit"),
        ("host_id=7", "query.host_id"),
        ("label=team", "query.label.0"),
        ("label==x", "query.label.0"),
        ("label=a=1&label=a=2", "query.label.1"),
        ("cancelling=perhaps", "query.cancelling"),
        ("stauts=queued", "query.stauts"),
        ("batch_id=", "query.batch_id"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_named(api: httpx.Client, user: dict[str, str], query: str, location: str):
    document = problem(api.get(f"/v1/tasks?{query}", headers=user), 422, "invalid_request")
    assert document["errors"][0]["location"] == location


def test_what_is_allowed_is_said_with_the_mistake(api: httpx.Client, user: dict[str, str]):
    misspelled = api.get("/v1/tasks?stauts=queued", headers=user).json()
    assert "status" in misspelled["errors"][0]["allowed"]
    unknown = api.get("/v1/tasks?status=sleeping", headers=user).json()
    assert unknown["errors"][0]["allowed"] == ["queued", "assigned", "dispatched", "done", "failed", "cancelled"]
    field = api.post("/v1/tasks", json={**SUBMISSION, "prioritty": 1}, headers=user).json()
    assert field["errors"][0]["location"] == "body.prioritty"
    assert "priority" in field["errors"][0]["allowed"]


@pytest.mark.parametrize(
    "tamper", [lambda t: t[:-2], lambda t: "B" + t[1:], lambda t: t + "!", lambda _: "%00", lambda _: "x"]
)
def test_a_page_token_that_was_tampered_with_is_refused(
    api: httpx.Client, user: dict[str, str], fleet: Fleet, tamper: Any
):
    for _ in range(2):
        fleet.submit()
    token = api.get("/v1/tasks?limit=1", headers=user).json()["next_page_token"]
    answer = api.get("/v1/tasks", params={"limit": 1, "page_token": tamper(token)}, headers=user)
    problem(answer, 422, "invalid_page_token")


def test_a_page_token_belongs_to_its_filters(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    for _ in range(2):
        fleet.submit()
    token = api.get("/v1/tasks?limit=1", headers=user).json()["next_page_token"]
    problem(api.get(f"/v1/tasks?status=done&page_token={token}", headers=user), 422, "invalid_page_token")


def test_events_are_read_on_from_the_last_one(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    task_id = fleet.submit()
    fleet.cancel(task_id)
    first = api.get(f"/v1/tasks/{task_id}/events?limit=1", headers=user).json()["events"]
    rest = api.get(f"/v1/tasks/{task_id}/events?after={first[0]['event_id']}", headers=user).json()["events"]
    assert [event["kind"] for event in first + rest] == ["task.queued", "task.cancel_requested", "task.cancelled"]


def test_attempts_tell_how_each_run_went(api: httpx.Client, user: dict[str, str], fleet: Fleet):
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "failed", failure_reason="step 2: no such button")
    (attempt,) = api.get(f"/v1/tasks/{assignment.task_id}/attempts", headers=user).json()["attempts"]
    assert (attempt["status"], attempt["cause"]) == ("failed", "task")
    assert attempt["failure_reason"] == "step 2: no such button"
