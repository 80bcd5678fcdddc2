"""Submit, run on a phone, cancel: the main road with everything on it real."""

import json

from corral.contract.cancellation import CancellationOutcome, StoppedBy
from corral.contract.task_status import TaskStatus
from tests.journeys.conftest import Site
from tests.journeys.lab import ENDLESS, LEASE_SECONDS, SHORT, Lab, actions_after

HOST = "rack-a"


def host_log(lab: Lab, host: str) -> list[dict[str, object]]:
    lines = lab.program(host).log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_a_flow_runs_on_a_phone_and_its_steps_are_told(lab: Lab) -> None:
    task = lab.ended(lab.submit(SHORT, host=HOST))
    assert task.status is TaskStatus.DONE
    assert task.progress is not None
    assert (task.progress.step, task.progress.steps_total, task.progress.checkpoint) == (2, 2, "done")
    assert lab.kinds(task.task_id) == ["queued", "assigned", "dispatched", "done"]


def test_a_failed_flow_names_the_step_and_keeps_a_picture(lab: Lab) -> None:
    flow = SHORT.replace("assertVisible: New note", "extendedWaitUntil: {visible: Unicorn, timeout: 100}")
    task = lab.ended(lab.submit(flow, host=HOST))
    assert task.status is TaskStatus.FAILED
    assert "extendedWaitUntil" in (task.failure_reason or "")
    kept = lab.rows("SELECT name, media_type FROM artifacts WHERE task_id = %s", task.task_id)
    assert ("failure.png", "image/png") in kept


def test_a_running_task_is_stopped_at_a_step_and_nothing_is_done_afterwards(site: Site) -> None:
    lab = site.lab
    task_id = lab.submit(ENDLESS, host=HOST)
    lab.until_step(task_id, 4)
    lab.corral.cancel(task_id, reason="seen enough")
    assert lab.corral.get(task_id).is_cancelling
    task = lab.ended(task_id)
    story = task.cancellation
    assert story is not None
    assert (task.status, story.outcome, story.stopped_by, story.confirmed, story.reason) == (
        TaskStatus.CANCELLED,
        CancellationOutcome.CANCELLED,
        StoppedBy.STEP_BOUNDARY,
        True,
        "seen enough",
    )
    assert story.delivered_at is not None
    assert story.seen_at is not None
    assert task.finished_at is not None
    assert (task.finished_at - story.requested_at).total_seconds() < LEASE_SECONDS / 3 + 2
    assert actions_after(site.phones[HOST], task.finished_at.timestamp()) == []


def test_cancelled_and_failed_are_told_apart_everywhere(lab: Lab) -> None:
    failed = lab.ended(lab.submit(SHORT.replace("dev.corral.notes", "dev.corral.missing"), host=HOST))
    task_id = lab.submit(ENDLESS, host=HOST)
    lab.until_step(task_id, 1)
    lab.corral.cancel(task_id)
    cancelled = lab.ended(task_id)
    assert (failed.status, cancelled.status) == (TaskStatus.FAILED, TaskStatus.CANCELLED)
    assert [lab.corral.attempts(task.task_id)[-1].status.value for task in (failed, cancelled)] == [
        "failed",
        "cancelled",
    ]
    assert [lab.kinds(task.task_id)[-1] for task in (failed, cancelled)] == ["failed", "cancelled"]
    for task, ended in ((failed, "task.failed"), (cancelled, "task.cancelled")):
        told = {line["event"] for line in host_log(lab, HOST) if line.get("task_id") == str(task.task_id)}
        assert told & {"task.done", "task.failed", "task.cancelled"} == {ended}
