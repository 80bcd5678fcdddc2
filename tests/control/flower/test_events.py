"""Each fact as the event of Celery that says it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from control.flower.events import MOST_CHARACTERS, celery_event, live_task
from control.operations.fleet_workers import WorkerTask
from control.store.event_feed import FeedEvent
from corral.contract.history import TaskEventKind
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskKind

TASK, HOST = UUID(int=1), UUID(int=2)
AT = datetime(2030, 1, 1, tzinfo=UTC)
EVENT = FeedEvent(
    event_id=7,
    task_id=TASK,
    at=AT,
    kind=TaskEventKind.QUEUED,
    attempt=0,
    actor="key:ci",
    details={},
    task_kind=TaskKind.FLOW,
    task_name="Sign in",
    labels={"team": "shop"},
    created_by="key:ci",
    host_id=None,
    claimed_at=None,
    result=None,
    changed_before_at=None,
    cancel_requested_at=None,
)
RESULT = {"steps": 3}
RUN = replace(EVENT, actor=f"host:{HOST}", attempt=1, host_id=HOST, claimed_at=AT - timedelta(seconds=90))
BY_REAPER = replace(RUN, actor="reaper")
BEFORE_START = {"stopped_by": "before_start"}


def told(event: FeedEvent):
    return celery_event(event, {HOST: "bench-7"}.__getitem__)


@pytest.mark.parametrize(
    ("event", "kind", "details", "name", "worker", "more"),
    [
        (EVENT, "queued", {}, "received", "queue@control", {"retries": 0}),
        (replace(RUN, actor="scheduler"), "assigned", {}, "received", "bench-7", {"retries": 1}),
        (RUN, "dispatched", {}, "started", "bench-7", {}),
        (RUN, "requeued", {"reason": "adb is gone"}, "retried", "bench-7", {"exception": "adb is gone"}),
        (BY_REAPER, "requeued", {"reason": "expired"}, "retried", "reaper@control", {"exception": "expired"}),
        (
            replace(RUN, result={"steps": 3}),
            "done",
            {},
            "succeeded",
            "bench-7",
            {"result": "{'steps': 3}", "runtime": 90},
        ),
        (RUN, "failed", {"reason": "no button"}, "failed", "bench-7", {"exception": "no button"}),
        (BY_REAPER, "failed", {"reason": "expired"}, "failed", "reaper@control", {"exception": "expired"}),
        (replace(EVENT, actor="scheduler"), "failed", {"reason": "queue timeout"}, "failed", "queue@control", {}),
        (RUN, "cancelled", {"stopped_by": "step_boundary"}, "revoked", "bench-7", {"terminated": True}),
        (BY_REAPER, "cancelled", {"stopped_by": "reaper"}, "revoked", "reaper@control", {"terminated": True}),
        (replace(EVENT, actor="reaper"), "cancelled", BEFORE_START, "revoked", "reaper@control", {"terminated": False}),
        (EVENT, "cancelled", BEFORE_START, "revoked", "queue@control", {"terminated": False}),
        (replace(RUN, actor="scheduler"), "cancelled", BEFORE_START, "revoked", "queue@control", {"terminated": False}),
    ],
)
def test_a_fact_has_its_event_under_the_name_of_whoever_decided(event, kind, details, name, worker, more):
    said = told(replace(event, kind=TaskEventKind(f"task.{kind}"), details=details))
    assert said is not None
    expected = {"type": f"task-{name}", "hostname": worker, "uuid": str(TASK), "timestamp": AT.timestamp(), **more}
    assert {key: said[key] for key in expected} == expected
    assert said["name"] == "corral.flow"


@pytest.mark.parametrize("kind", ["cancel_requested", "cancel_delivered", "cancel_seen"])
def test_nothing_is_said_of_a_pending_cancel(kind):
    assert told(replace(RUN, kind=TaskEventKind(f"task.{kind}"))) is None


def test_consumers_put_events_in_the_order_of_arrival_and_shift_no_time():
    assert not {"clock", "utcoffset"} & set(told(EVENT) or {})


def test_a_task_is_shown_by_what_describes_it_alone():
    said = told(replace(EVENT, kind=TaskEventKind.ASSIGNED, host_id=HOST, serial="PHONE1"))
    assert said is not None
    shown = {"name": "Sign in", "kind": "flow", "labels": {"team": "shop"}, "created_by": "key:ci", "serial": "PHONE1"}
    assert (said["args"], said["kwargs"]) == ("()", repr(shown))


def test_what_is_long_is_cut():
    said = told(replace(RUN, kind=TaskEventKind.FAILED, details={"reason": "x" * 10_000}))
    assert said is not None
    assert len(said["exception"]) == MOST_CHARACTERS


@pytest.mark.parametrize(
    ("status", "attempt", "worker", "names"),
    [
        ("queued", 0, "queue@control", ["received"]),
        ("queued", 1, "queue@control", ["retried", "received"]),
        ("assigned", 0, "bench-7", ["received"]),
        ("dispatched", 1, "bench-7", ["received", "started"]),
        ("dispatched", 2, "bench-7", ["retried", "received", "started"]),
    ],
)
def test_a_live_task_is_told_from_the_start_and_back_dated(status, attempt, worker, names):
    task = WorkerTask(
        task_id=TASK,
        attempt=attempt,
        task_kind=TaskKind.GOAL,
        task_name=None,
        labels={},
        status=TaskStatus(status),
        since=AT,
        serial=None,
        cancel_requested_at=None,
        progress=None,
        created_by="key:ci",
    )
    events = live_task(task, worker)
    assert [event["type"].removeprefix("task-") for event in events] == names
    assert {event["timestamp"] for event in events} == {AT.timestamp()}
    assert events[-1]["hostname"] == worker
    assert events[-1]["name"] == "corral.goal"
