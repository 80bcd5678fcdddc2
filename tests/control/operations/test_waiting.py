"""Why a task waits, counted by label sets, and the answer to a submit beside a look at the task."""

import pytest

from control.operations import waiting
from control.operations.plane import Plane
from control.operations.submit import submit_task
from control.operations.tasks import show_task
from control.operations.waiting import WaitingReasons
from corral.contract.tasks import Requirement, TaskSubmission
from tests.control.fleet import FLOW, SUBMITTER, Fleet


def reason(plane: Plane, *requires: dict[str, str], reasons: WaitingReasons | None = None) -> str:
    with plane.database.statement() as tx:
        return (reasons or plane.waiting).reason(tx, [Requirement.model_validate(one) for one in requires])


def test_devices_that_are_alike_are_told_apart_by_host_and_serial_where_a_task_asks_for_one(fleet: Fleet) -> None:
    for name in ("left", "right"):
        fleet.host(f"{name}-1", f"{name}-2", name=name)
    free = "a device is free: the task is about to be assigned"
    wanted = [{"label": "host", "value": "left"}, {"label": "serial", "value": "left-2"}]
    assert reason(fleet.plane, *wanted) == free
    fleet.submit(requires=wanted)
    assert fleet.assign() == 1
    assert reason(fleet.plane, *wanted) == "all 1 devices that suit the task are busy"
    assert reason(fleet.plane, {"label": "serial", "value": "left-1"}) == free
    crossed = reason(fleet.plane, {"label": "host", "value": "right"}, {"label": "serial", "value": "left-2"})
    assert crossed.startswith("none of the 4 known devices has what the task requires: host=right")
    assert reason(fleet.plane, {"label": "model", "value": "Pixel 8"}) == free


def test_a_large_fleet_is_counted_now_and_then(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    reasons = WaitingReasons(clock=lambda: now[0])
    monkeypatch.setattr(waiting, "SMALL_FLEET", 1)
    fleet.host("A", "B")
    assert "free" in reason(fleet.plane, reasons=reasons)
    fleet.submit()
    fleet.submit()
    assert fleet.assign() == 2
    now[0] += waiting.RECOUNT_SECONDS - 0.1
    assert "free" in reason(fleet.plane, reasons=reasons)
    now[0] += 0.2
    assert reason(fleet.plane, reasons=reasons) == "all 2 devices that suit the task are busy"


@pytest.mark.parametrize(
    "submission",
    [
        {"kind": "flow", "flow": FLOW},
        {
            "kind": "flow",
            "flow": FLOW,
            "name": "Log in",
            "labels": {"team": "a", "b": "c"},
            "batch_id": "nightly",
            "priority": 7,
            "max_attempts": 3,
            "timeout_seconds": 60,
            "queue_timeout_seconds": 600,
            "env": {"PIN": "1"},
            "files": {"sub.yaml": FLOW},
            "requires": [{"label": "sim", "op": "exists"}],
        },
        {"kind": "goal", "goal": "Write a note.", "verify": "visible: Saved", "agent": {"secrets": ["PIN"]}},
    ],
    ids=["plain", "all of a flow", "goal"],
)
def test_the_answer_to_a_submit_is_what_a_look_shows(fleet: Fleet, submission: dict[str, object]) -> None:
    fleet.host()
    task = TaskSubmission.model_validate(submission)
    for key in (None, "once"):
        submitted = submit_task(fleet.plane, task, principal=SUBMITTER, idempotency_key=key)
        assert not submitted.is_replay
        assert submitted.task == show_task(fleet.plane, submitted.task.task_id)
    again = submit_task(fleet.plane, task, principal=SUBMITTER, idempotency_key="once")
    assert (again.is_replay, again.task) == (True, submitted.task)
