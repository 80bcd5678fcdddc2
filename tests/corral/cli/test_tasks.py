import pytest

from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import (
    DEVICE_ID,
    HOST_ID,
    TASK_ID,
    FakeApi,
    artifact,
    event,
    host,
    receipt,
    task,
)

PATH = f"/v1/tasks/{TASK_ID}"


def test_a_list_shows_a_line_for_each_task(of_api: Corral, api: FakeApi) -> None:
    tasks = [task("dispatched", is_cancelling=True), task("cancelled"), task("failed", failure_reason="no such app")]
    api.answer("GET", "/v1/tasks", (200, {"tasks": tasks, "next_page_token": "t2"}))
    ran = of_api("tasks")
    lines = ran.out.splitlines()
    assert [next(word for word in line.split() if word != TASK_ID) for line in lines[1:]] == [
        "cancelling",
        "cancelled",
        "failed",
    ]
    assert "no such app" in lines[3]
    assert "--page t2" in ran.err


def test_filters_are_passed_on(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", "/v1/tasks", (200, {"tasks": [], "next_page_token": None}))
    ran = of_api(
        *("tasks", "--status", "queued", "--status", "done", "--cancelling", "--label", "team=shop", "--batch", "b1"),
        *("--host", HOST_ID, "--device", DEVICE_ID, "--limit", "7", "--page", "t2", "--json"),
    )
    assert ran.json == {"tasks": [], "next_page_token": None}
    assert api.requests[0].query == {
        "status": ["queued", "done"],
        "cancelling": ["true"],
        "label": ["team=shop"],
        "host_id": [HOST_ID],
        "device_id": [DEVICE_ID],
        "batch_id": ["b1"],
        "limit": ["7"],
        "page_token": ["t2"],
    }


def test_the_host_of_a_filter_can_be_named(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", "/v1/hosts", (200, {"hosts": [host("desk")]}))
    api.answer("GET", "/v1/tasks", (200, {"tasks": [], "next_page_token": None}))
    of_api("tasks", "--host", "desk")
    assert api.requests[-1].query["host_id"] == [HOST_ID]
    assert of_api("tasks", "--host", "shelf").code == 2


def test_an_empty_list_says_so_on_stderr(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", "/v1/tasks", (200, {"tasks": [], "next_page_token": None}))
    ran = of_api("tasks")
    assert (ran.code, ran.out) == (0, "")
    assert "no such tasks" in ran.err


def test_show_tells_the_story_of_a_cancel(of_api: Corral, api: FakeApi) -> None:
    story = receipt(reason="wrong build", stopped_by="reaper", confirmed=False, delivered_at="2026-01-01T10:00:10.5Z")
    api.answer("GET", PATH, (200, task("cancelled", cancellation=story)))
    attempt = {
        "attempt": 1,
        "status": "cancelled",
        "host_id": HOST_ID,
        "device_id": DEVICE_ID,
        "claimed_at": "2026-01-01T10:00:01Z",
        "finished_at": "2026-01-01T10:00:12Z",
        "cause": None,
        "failure_reason": None,
        "result": None,
    }
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": [attempt]}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": []}))
    ran = of_api("show", TASK_ID)
    assert ran.code == 0
    for fact in ("wrong build", "reaper", "not confirmed by its host", "0.50 s", "2.0 s", "11.0 s"):
        assert fact in ran.out


def test_show_says_what_a_task_requires_and_how_to_see_what_it_left(of_api: Corral, api: FakeApi) -> None:
    requires = [
        {"label": "colour", "op": "eq", "value": "red"},
        {"label": "model", "op": "in", "value": ["Pixel 8", "Pixel 9"]},
        {"label": "sim", "op": "exists"},
    ]
    api.answer("GET", PATH, (200, task("failed", requires=requires)))
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": []}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": [artifact(), artifact("log.txt")]}))
    shown = of_api("show", TASK_ID).out
    assert "colour=red, model in Pixel 8, Pixel 9, has sim" in shown
    assert f"2, see them with: corral artifacts {TASK_ID}" in shown


def test_what_others_wrote_cannot_steer_the_terminal(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", PATH, (200, task(name="[bold]\x1b[2J evil")))
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": []}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": []}))
    ran = of_api("show", TASK_ID)
    assert "[bold]·[2J evil" in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    ("status", "word"), [("done", "done"), ("failed", "failed after 12.0 s: no app"), ("cancelled", "cancelled after")]
)
def test_watch_shows_what_happens_until_the_end(of_api: Corral, api: FakeApi, status: str, word: str) -> None:
    running = task("dispatched", progress={"step": 2, "steps_total": 9, "text": "Tap on Login"})
    api.answer("GET", PATH, (200, running), (200, task(status, failure_reason="no app")))
    first, second = event(1, "task.dispatched"), event(2, f"task.{status}")
    api.answer("GET", f"{PATH}/events", (200, {"events": [first]}), (200, {"events": [second]}))
    ran = of_api("watch", TASK_ID)
    assert ran.code == {"done": 0, "failed": 1, "cancelled": 3}[status]
    assert ran.out.startswith(word)
    assert "task.dispatched by scheduler" in ran.err
    assert "step 2 of 9: Tap on Login" in ran.err
    assert [request.query["after"] for request in api.requests if request.path.endswith("events")] == [["0"], ["1"]]


def test_a_wait_with_a_limit_ends_before_the_task(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", PATH, (200, task("dispatched")))
    ran = of_api("watch", TASK_ID, "--wait-limit", "0.05", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.problem["code"] == "wait_timed_out"
    assert "goes on" in ran.problem["detail"]
