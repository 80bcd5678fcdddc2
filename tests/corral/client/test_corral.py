from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID

import pytest
from pydantic import ValidationError

from corral.client import (
    Corral,
    Refused,
    TaskAlreadyTerminal,
    TaskNotFound,
    Unauthorised,
    Unreachable,
    WaitTimedOut,
    transport,
)
from corral.contract.fleet import Scope
from corral.contract.goals import AgentOptions
from corral.contract.task_status import TaskStatus
from tests.corral.fake_api import (
    DEVICE_ID,
    HOST_ID,
    KEY,
    TASK_ID,
    FakeApi,
    artifact,
    cancellation,
    device,
    event,
    host,
    problem,
    task,
)

TASK = UUID(TASK_ID)
FLOW = "appId: com.example\n---\n- back\n"


@pytest.fixture
def corral(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Corral]:
    monkeypatch.setattr(transport, "RETRY_PAUSES_SECONDS", (0.0, 0.0, 0.0))
    with Corral(api.url, KEY) as corral:
        yield corral


def test_a_submitted_flow_arrives_as_the_contract_writes_it(api: FakeApi, corral: Corral) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    submitted = corral.submit(FLOW, name="Log in", env={"USER": "ada"}, labels={"team": "shop"}, priority=3)
    assert submitted.task_id == TASK
    [request] = api.requests
    assert request.body == {
        "kind": "flow",
        "name": "Log in",
        "flow": FLOW,
        "files": {},
        "env": {"USER": "ada"},
        "labels": {"team": "shop"},
        "requires": [],
        "priority": 3,
        "max_attempts": 2,
    }


def test_a_goal_is_as_easy_as_a_flow(api: FakeApi, corral: Corral) -> None:
    api.answer("POST", "/v1/tasks", (201, task(kind="goal", goal="Write a note.", agent={"max_steps": 9, "mood": "x"})))
    agent = AgentOptions(model="openai:gpt-5", secrets=["PIN"])
    submitted = corral.submit(goal="Write a note.", verify="visible: Saved", agent=agent, timeout_seconds=90)
    assert submitted.agent is not None
    assert (submitted.goal, submitted.agent.max_steps) == ("Write a note.", 9)
    [request] = api.requests
    assert request.body == {
        "kind": "goal",
        "goal": "Write a note.",
        "verify": "visible: Saved",
        "agent": {"model": "openai:gpt-5", "secrets": ["PIN"], "max_steps": 50},
        "files": {},
        "env": {},
        "labels": {},
        "requires": [],
        "priority": 0,
        "max_attempts": 2,
        "timeout_seconds": 90,
    }


def test_a_submit_is_of_a_flow_or_of_a_goal(api: FakeApi, corral: Corral) -> None:
    with pytest.raises(ValidationError, match="takes no `flow`"):
        corral.submit(FLOW, goal="Write a note.")  # pyright: ignore[reportCallIssue] - what it is about
    with pytest.raises(ValidationError, match="needs the flow's YAML"):
        corral.submit()  # pyright: ignore[reportCallIssue] - what it is about
    assert api.requests == []


def test_a_repeated_submit_carries_the_same_idempotency_key(api: FakeApi, corral: Corral) -> None:
    busy = (503, problem("not_ready", 503, "in a moment"))
    api.answer("POST", "/v1/tasks", busy, busy, (201, task()))
    corral.submit(FLOW)
    keys = [request.headers["idempotency-key"] for request in api.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_two_submits_have_two_idempotency_keys(api: FakeApi, corral: Corral) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    corral.submit(FLOW)
    corral.submit(FLOW)
    first, second = (request.headers["idempotency-key"] for request in api.requests)
    assert first != second


def test_the_callers_own_idempotency_key_is_used(api: FakeApi, corral: Corral) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    corral.submit(FLOW, idempotency_key="nightly-7")
    assert api.requests[0].headers["idempotency-key"] == "nightly-7"


def test_what_is_wrong_with_a_submission_is_said_before_it_is_sent(api: FakeApi, corral: Corral) -> None:
    with pytest.raises(ValidationError, match="priority"):
        corral.submit(FLOW, priority=1000)
    assert api.requests == []


def test_a_key_is_never_made_twice(api: FakeApi, corral: Corral) -> None:
    api.answer("POST", "/v1/api-keys", (503, problem("not_ready", 503, "in a moment")))
    with pytest.raises(Unreachable):
        corral.create_api_key("ci", scopes=[Scope.TASKS_READ])
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("task_not_found", 404, TaskNotFound),
        ("task_already_terminal", 409, TaskAlreadyTerminal),
        ("forbidden", 403, Unauthorised),
        ("invalid_request", 422, Refused),
    ],
)
def test_a_problem_becomes_the_error_that_says_what_to_do(
    api: FakeApi, corral: Corral, code: str, status: int, error: type[Refused]
) -> None:
    api.answer("POST", f"/v1/tasks/{TASK_ID}/cancel", (status, problem(code, status, "no")))
    with pytest.raises(error) as caught:
        corral.cancel(TASK)
    assert caught.value.problem.code == code
    assert len(api.requests) == 1


def test_a_wrong_key_is_unauthorised(api: FakeApi) -> None:
    with Corral(api.url, "corral_wrong_key") as corral, pytest.raises(Unauthorised):
        corral.get(TASK)


def test_the_page_of_a_proxy_is_no_verdict(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", f"/v1/tasks/{TASK_ID}", (404, "<html>Not here</html>"), (200, "<html>Welcome</html>"))
    for _ in range(2):
        with pytest.raises(Unreachable, match="not a Corral"):
            corral.get(TASK)


def test_trouble_of_the_api_is_told_with_its_problem(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", f"/v1/tasks/{TASK_ID}", (500, problem("internal_error", 500, "look at request 7")))
    with pytest.raises(Unreachable, match="request 7") as caught:
        corral.get(TASK)
    assert caught.value.problem is not None


def test_an_api_that_does_not_answer_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "RETRY_PAUSES_SECONDS", (0.0,))
    with Corral("http://127.0.0.1:1", KEY) as corral:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
            corral.get(TASK)
        assert not corral.is_ready()


def test_waiting_ends_with_the_task(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", f"/v1/tasks/{TASK_ID}", (200, task()), (200, task("dispatched")), (200, task("cancelled")))
    assert corral.wait(TASK, timeout_seconds=10).status is TaskStatus.CANCELLED


def test_a_wait_that_is_too_long_leaves_the_task_alone(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", f"/v1/tasks/{TASK_ID}", (200, task("dispatched")))
    with pytest.raises(WaitTimedOut, match="goes on"):
        corral.wait(TASK, timeout_seconds=0.05)
    assert {request.method for request in api.requests} == {"GET"}


def test_a_cancel_carries_its_reason_and_is_safe_to_repeat(api: FakeApi, corral: Corral) -> None:
    path = f"/v1/tasks/{TASK_ID}/cancel"
    api.answer("POST", path, (502, "<html>Bad gateway</html>"), (202, cancellation("dispatched", "pending")))
    assert corral.cancel(TASK, reason="wrong build").status is TaskStatus.DISPATCHED
    assert [request.body for request in api.requests] == [{"reason": "wrong build"}] * 2


def test_a_list_fetches_page_after_page_with_its_filters(api: FakeApi, corral: Corral) -> None:
    pages = [{"tasks": [task()], "next_page_token": token} for token in ("two", "three", None)]
    api.answer("GET", "/v1/tasks", *((200, page) for page in pages))
    filters = {"statuses": [TaskStatus.QUEUED, TaskStatus.DONE], "is_cancelling": False, "labels": {"team": "shop"}}
    assert len(list(corral.list(**filters))) == 3
    for request, token in zip(api.requests, (None, ["two"], ["three"]), strict=True):
        assert request.query["status"] == ["queued", "done"]
        assert request.query["cancelling"] == ["false"]
        assert request.query["label"] == ["team=shop"]
        assert request.query.get("page_token") == token


def test_events_and_attempts_come_in_their_order(api: FakeApi, corral: Corral) -> None:
    events = [event(number, kind) for number, kind in enumerate(("task.queued", "task.assigned"), start=1)]
    api.answer("GET", f"/v1/tasks/{TASK_ID}/events", (200, {"events": events}))
    api.answer("GET", f"/v1/tasks/{TASK_ID}/attempts", (200, {"attempts": []}))
    found = corral.events(TASK, after=0)
    assert all(former.event_id < later.event_id for former, later in pairwise(found))
    assert corral.attempts(TASK) == []


def test_artifacts_are_listed_and_downloaded_byte_for_byte(api: FakeApi, corral: Corral) -> None:
    png = bytes(range(256))
    api.answer("GET", f"/v1/tasks/{TASK_ID}/artifacts", (200, {"artifacts": [artifact("failure.png", attempt=2)]}))
    api.answer(
        "GET", f"/v1/tasks/{TASK_ID}/artifacts/failure.png", (503, problem("not_ready", 503, "wait")), (200, png)
    )
    [found] = corral.artifacts(TASK)
    assert corral.download_artifact(TASK, found.name, attempt=found.attempt) == png
    assert api.requests[-1].query == {"attempt": ["2"]}
    assert corral.download_artifact(TASK, found.name) == png
    assert api.requests[-1].query == {}


def test_an_artifact_that_is_not_there_is_refused(api: FakeApi, corral: Corral) -> None:
    missing = problem("artifact_not_found", 404, "task has no artifact 'a b'")
    api.answer("GET", f"/v1/tasks/{TASK_ID}/artifacts/a%20b", (404, missing))
    with pytest.raises(Refused, match="no artifact"):
        corral.download_artifact(TASK, "a b")


def test_a_redirect_is_no_artifact(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", f"/v1/tasks/{TASK_ID}/artifacts/log.txt", (307, ""))
    with pytest.raises(Unreachable, match="307"):
        corral.download_artifact(TASK, "log.txt")


def test_the_fleet_can_be_looked_at_and_drained(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", "/v1/hosts", (200, {"hosts": [host()]}))
    api.answer("GET", "/v1/devices", (200, {"devices": [device(state="melting")]}))
    api.answer("POST", f"/v1/hosts/{HOST_ID}/drain", (200, host(is_draining=True)))
    assert str(corral.devices()[0].device_id) == DEVICE_ID
    assert corral.devices()[0].state == "unknown"
    assert corral.drain(corral.hosts()[0].host_id).is_draining
    assert api.requests[-1].body == {"draining": True}


@pytest.mark.parametrize("url", ["foo", "127.0.0.1:7700", "ftp://x", "http://", "http://a\nb"])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="is no address of an API"):
        Corral(url, KEY)


def test_ready_is_what_the_api_says(api: FakeApi, corral: Corral) -> None:
    api.answer("GET", "/readyz", (503, problem("not_ready", 503, "no schema")), (200, {"status": "ready"}))
    assert [corral.is_ready(), corral.is_ready()] == [False, True]
