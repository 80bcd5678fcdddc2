"""The lives of real tasks, and what was counted of them."""

from collections.abc import Callable, Generator

import pytest
from prometheus_client import REGISTRY

from control.flower.latencies import observe
from control.operations.reap import reap_expired_leases
from control.store.event_feed import EventFeed
from tests.control.fleet import Fleet

Counted = Callable[..., float]


@pytest.fixture
def counted(fleet: Fleet) -> Generator[Counted]:
    """What was added by all events since the test began: reads the feed first."""
    feed = EventFeed(fleet.plane.database)
    feed.read()
    before = {(one.name, *sorted(one.labels.items())): one.value for m in REGISTRY.collect() for one in m.samples}

    def counted(name: str, **labels: str) -> float:
        observe(feed.read())
        return (REGISTRY.get_sample_value(name, labels) or 0) - before[name, *sorted(labels.items())]

    return counted


def test_a_task_that_is_done_is_seen_in_each_of_its_steps(fleet: Fleet, counted: Counted):
    host = fleet.host()
    host.report(fleet.running(host), "done")
    assert counted("corral_assign_seconds_count") == 1
    assert counted("corral_claim_seconds_count") == 1
    assert counted("corral_run_seconds_count", outcome="done") == 1
    assert 0 < counted("corral_run_seconds_sum", outcome="done") < 10
    assert counted("corral_tasks_ended_total", outcome="done") == 1
    assert counted("corral_task_events_total", kind="queued") == 1
    assert counted("corral_cancel_seconds_count", until="ended") == 0


def test_a_cancel_is_timed_until_it_was_told_seen_and_done(fleet: Fleet, counted: Counted):
    host = fleet.host()
    running = fleet.running(host)
    fleet.cancel(running.task_id)
    host.renew(running)
    host.renew(running, cancel_seen=True)
    host.report(running, "cancelled")
    for until in ("delivered", "seen", "ended"):
        assert counted("corral_cancel_seconds_count", until=until) == 1
    assert counted("corral_run_seconds_count", outcome="cancelled") == 1


def test_what_ends_in_the_queue_has_no_run_also_when_it_ran_before(fleet: Fleet, counted: Counted):
    host = fleet.host()
    running = fleet.running(host, max_attempts=2)
    host.report(running, "failed", cause="infrastructure", failure_reason="the phone fell off")
    fleet.cancel(running.task_id)
    assert counted("corral_run_seconds_count", outcome="requeued") == 1
    assert counted("corral_requeues_total", actor="host") == 1
    assert counted("corral_run_seconds_count", outcome="cancelled") == 0
    assert counted("corral_cancel_seconds_count", until="ended_before_start") == 1
    assert counted("corral_tasks_ended_total", outcome="cancelled") == 1


def test_what_the_reaper_sends_back_is_its_requeue(fleet: Fleet, counted: Counted):
    reaped = "corral_reaped_tasks_total"
    before = REGISTRY.get_sample_value(reaped, {"outcome": "requeued"}) or 0
    fleet.expire(fleet.running(fleet.host(), max_attempts=2))
    assert reap_expired_leases(fleet.plane) == 1
    assert counted("corral_requeues_total", actor="reaper") == 1
    assert REGISTRY.get_sample_value(reaped, {"outcome": "requeued"}) == before + 1
