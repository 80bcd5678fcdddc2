"""The lives of real tasks, as the spans that their audit trail comes to."""

from collections.abc import Callable

import pytest

from control.flower.spans import trace
from control.operations.reap import reap_expired_leases, release_unclaimed_assignments
from control.store.event_feed import EventFeed
from corral.traces.ids import root_of
from corral.traces.spans import FinishedSpan
from tests.control.fleet import Fleet
from tests.trace_collector import recorded_spans

Told = Callable[[], list[FinishedSpan]]


@pytest.fixture
def told(fleet: Fleet) -> Told:
    """What the audit trail since the test began says, without what was recorded on the way."""
    feed = EventFeed(fleet.plane.database)
    feed.read()

    def told() -> list[FinishedSpan]:
        events = feed.read()
        with recorded_spans() as spans:
            trace(events)
        return spans

    return told


def words(spans: list[FinishedSpan]) -> list[tuple[str, str | None]]:
    return [(one.name, one.failure) for one in spans]


def test_a_task_that_came_back_to_the_queue_waits_twice_and_its_lost_attempt_is_told(fleet: Fleet, told: Told):
    running = fleet.running(fleet.host(), max_attempts=2)
    fleet.expire(running)
    assert reap_expired_leases(fleet.plane) == 1
    fleet.cancel(running.task_id)
    spans = told()
    assert words(spans) == [
        ("queued", None),
        ("assigned", None),
        ("lost attempt", "lease lost"),
        ("queued", None),
        ("cancelling", None),
        ("task", None),
    ]
    root = root_of(running.task_id)
    assert {one.parent for one in spans} == {root, None}
    assert spans[-1].place == root
    assert spans[-1].attributes["outcome"] == "cancelled"
    assert spans[0].started_ns >= spans[-1].started_ns
    assert spans[-1].ended_ns == spans[3].ended_ns


def test_an_attempt_that_its_host_reported_is_left_to_the_host(fleet: Fleet, told: Told):
    host = fleet.host()
    host.report(fleet.running(host), "failed", failure_reason="no such button")
    assert words(told()) == [("queued", None), ("assigned", None), ("task", "failed")]


def test_an_assignment_that_nobody_claimed_is_a_wait_that_failed(fleet: Fleet, told: Told):
    fleet.host()
    task_id = fleet.submit()
    fleet.assign()
    with fleet.plane.database.transaction() as tx:
        tx.run("UPDATE scheduled_tasks SET assigned_at = assigned_at - interval '1 hour'")
    fleet.api_has_been_up()
    assert release_unclaimed_assignments(fleet.plane) == 1
    fleet.cancel(task_id)
    assert words(told()) == [
        *(("queued", None), ("assigned", "requeued"), ("queued", None), ("cancelling", None), ("task", None))
    ]


def test_what_is_told_again_has_the_same_ids(fleet: Fleet):
    feed = EventFeed(fleet.plane.database)
    feed.read()
    running = fleet.running(fleet.host())
    events = feed.read()
    with recorded_spans() as spans:
        trace(events)
        trace(events)
    assert len(spans) == 4
    assert len({one.place for one in spans}) == 2
    assert {one.place.trace_id for one in spans} == {running.task_id.int}


def test_jobs_tell_what_they_decide_for_each_task(fleet: Fleet):
    host = fleet.host()
    with recorded_spans() as spans:
        running = fleet.running(host, max_attempts=1)
        fleet.expire(running)
        reap_expired_leases(fleet.plane)
    assert [one.name for one in spans] == ["assign", "claim", "reap"]
    assert {one.parent for one in spans} == {root_of(running.task_id)}
    assert spans[-1].attributes["outcome"] == "failed"
