from pathlib import Path

import pytest
from rich.console import Console

from corral.cli.demo_table import DemoScreen, closing_table
from corral.cli.demo_tasks import (
    SHOWN_BEFORE_CANCEL_SECONDS,
    CancelWhen,
    DemoTask,
    demo_tasks,
    examples_folder,
    submit_all,
)
from corral.cli.flow_files import read_flow
from corral.client import Corral
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail
from corral.flow.parser import parse_flow
from corral.goal.script import parse_script
from tests.corral.fake_api import KEY, FakeApi, receipt, task

EXAMPLES = sorted(examples_folder().glob("*.yaml"))
SCRIPTS = sorted(examples_folder().glob("goals/*.yaml"))
LATER = SHOWN_BEFORE_CANCEL_SECONDS + 1


def seen(status: str, **changes: object) -> TaskDetail:
    return TaskDetail.model_validate(task(status, **changes))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_a_flow_with_a_name(file: Path) -> None:
    flow = read_flow(file)
    assert parse_flow(flow.source, files=flow.files).steps_total > 1
    assert flow.name is None, "it has a name of its own"


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_every_example_of_a_goal_is_a_script(file: Path) -> None:
    assert next(parse_script(file.read_text()).played()).calls


def test_the_demo_cancels_a_task_that_waits_a_flow_that_runs_and_a_goal_in_mid_thought() -> None:
    cancelled = [(task.cancel_when, task.goal is not None) for task in demo_tasks()]
    assert sorted(kind for kind in cancelled if kind[0] is not CancelWhen.NEVER) == [
        (CancelWhen.QUEUED, False),
        (CancelWhen.RUNNING, False),
        (CancelWhen.RUNNING, True),
    ]
    assert {task.expected for task in demo_tasks()} == {TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED}


def test_all_tasks_are_submitted_with_their_files(api: FakeApi) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    with Corral(api.url, KEY) as corral:
        submit_all(corral, tasks := demo_tasks(), now=0)
    assert len(api.requests) == len(tasks)
    flows = [request.body for request in api.requests if request.body["kind"] == "flow"]
    goals = [request.body for request in api.requests if request.body["kind"] == "goal"]
    assert all(body["files"] for body in flows)
    assert all(body["goal"] and body["agent"]["script"] for body in goals)
    assert [bool(request.body["requires"]) for request in api.requests] == [bool(task.requires) for task in tasks]


@pytest.mark.parametrize(
    ("cancel_when", "status", "is_due"),
    [
        (CancelWhen.QUEUED, "queued", True),
        (CancelWhen.QUEUED, "dispatched", False),
        (CancelWhen.RUNNING, "dispatched", True),
        (CancelWhen.RUNNING, "queued", False),
        (CancelWhen.NEVER, "dispatched", False),
    ],
)
def test_a_task_is_cancelled_once_it_was_shown_in_the_right_state(
    cancel_when: CancelWhen, status: str, *, is_due: bool
) -> None:
    shown = DemoTask("a", TaskStatus.CANCELLED, cancel_when)
    shown.see(seen(status), now=10)
    assert not shown.is_due_for_cancel(now=10)
    assert shown.is_due_for_cancel(now=10 + LATER) is is_due
    shown.is_cancel_requested = True
    assert not shown.is_due_for_cancel(now=10 + LATER)


@pytest.mark.parametrize(
    ("cancel_when", "status", "attempt", "is_as_expected"),
    [
        (CancelWhen.QUEUED, "cancelled", 0, True),
        (CancelWhen.QUEUED, "cancelled", 1, False),
        (CancelWhen.RUNNING, "cancelled", 1, True),
        (CancelWhen.RUNNING, "cancelled", 0, False),
        (CancelWhen.RUNNING, "done", 1, False),
    ],
)
def test_a_cancelled_task_counts_only_at_the_moment_it_was_meant_for(
    cancel_when: CancelWhen, status: str, attempt: int, *, is_as_expected: bool
) -> None:
    shown = DemoTask("a", TaskStatus.CANCELLED, cancel_when)
    assert not shown.is_as_expected
    shown.see(seen(status, attempt=attempt), now=0)
    assert shown.has_ended
    assert shown.is_as_expected is is_as_expected


def test_without_a_terminal_each_change_is_a_line_and_the_account_fits_into_80_columns() -> None:
    shown = DemoTask("a", TaskStatus.CANCELLED, CancelWhen.RUNNING)
    console = Console(width=80, force_terminal=False, record=True)
    with DemoScreen(console, [shown]) as screen:
        for now, status in enumerate(("queued", "queued", "dispatched")):
            if shown.see(seen(status), now=now):
                screen.changed(shown)
        screen.refresh()
    stopped = receipt(stopped_by="step_boundary")
    shown.see(seen("cancelled", attempt=1, name="Wait for statistics", cancellation=stopped), now=3)
    console.print(closing_table([shown]))
    lines = console.export_text().splitlines()
    assert [line.split()[-1] for line in lines[:2]] == ["queued", "dispatched"]
    assert lines[-1].split() == [
        *("Wait", "for", "statistics", "running", "cancelled", "cancelled"),
        *("12.0", "s", "2.0", "s", "step", "boundary", "✓"),
    ]
