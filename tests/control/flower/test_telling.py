"""What a consumer with Celery's own state sees of hosts and tasks, over a real broker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest
import redis

from control.flower.snapshot import Requests
from control.flower.stream import EventStream, NobodyTold
from control.flower.telling import Telling
from control.operations.hosts import mark_silent_hosts_offline
from control.operations.reap import reap_expired_leases
from control.store.database import Database
from control.store.event_feed import last_event_id, note_position
from corral.stack.valkey import EmbeddedValkey
from tests.control.fleet import Fleet, Host
from tests.control.flower.consumer import Consumer, consuming
from tests.control.redis_conditions import redis_url

__all__ = ["redis_url"]

Consuming = Callable[[], Consumer]


def at_once() -> Requests:
    """Requests that are answered however soon they come after each other."""
    now = iter(range(0, 1_000_000, 10))
    return Requests(clock=lambda: float(next(now)))


@pytest.fixture
def stream(redis_url: str) -> Iterator[EventStream]:
    stream = EventStream(redis_url)
    yield stream
    stream.close()


@pytest.fixture
def consume(redis_url: str, stream: EventStream) -> Iterator[Consuming]:
    """Connects consumers; the stream must not be in use by another thread."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(consuming(redis_url, stream))


@pytest.fixture
def tell(fleet: Fleet, stream: EventStream) -> Callable[[], Telling]:
    """A leader that begins at the end of the trail."""

    def tell() -> Telling:
        with fleet.plane.database.transaction() as tx:
            tx.run("DELETE FROM feed_positions")
            note_position(tx, "bridge", last_event_id(tx))
        telling = Telling(fleet.plane, stream, at_once())
        telling.answer_requests()
        return telling

    return tell


def silence(fleet: Fleet, host: Host) -> None:
    """The host is not heard of any more, and is taken for offline."""
    with fleet.plane.database.transaction() as tx:
        tx.run(
            "UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes' WHERE host_id = :host_id",
            host_id=host.host_id,
        )
    fleet.api_has_been_up()
    assert mark_silent_hosts_offline(fleet.plane) == 1


def test_every_end_of_a_task_is_seen(fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]):
    consumer, telling = consume(), tell()
    host = fleet.host("PHONE1", name="bench-7")
    done = fleet.running(host, name="Sign in")
    host.report(done, "done", result={"steps": 3})
    failed = fleet.running(host)
    host.report(failed, "failed", cause="task", failure_reason="no button")
    cancelled = fleet.running(host)
    fleet.cancel(cancelled.task_id)
    host.renew(cancelled)
    host.report(cancelled, "cancelled")
    withdrawn = fleet.submit()
    fleet.cancel(withdrawn)
    running = fleet.running(host)
    waiting = fleet.submit()
    telling.tell_events()
    consumer.until(lambda: str(waiting) in consumer.state.tasks)

    begun = [("received", "queue@control"), ("received", "bench-7"), ("started", "bench-7")]
    assert consumer.told_of(done.task_id) == [*begun, ("succeeded", "bench-7")]
    assert consumer.told_of(cancelled.task_id) == [*begun, ("revoked", "bench-7")]
    assert consumer.told_of(withdrawn) == [("received", "queue@control"), ("revoked", "queue@control")]
    assert consumer.states() == {
        str(done.task_id): "SUCCESS",
        str(failed.task_id): "FAILURE",
        str(cancelled.task_id): "REVOKED",
        str(withdrawn): "REVOKED",
        str(running.task_id): "STARTED",
        str(waiting): "RECEIVED",
    }
    seen = consumer.state.tasks[str(done.task_id)]
    assert (seen.name, seen.worker.hostname, seen.result) == ("corral.flow", "bench-7", "{'steps': 3}")
    assert "'name': 'Sign in'" in seen.kwargs
    assert "PHONE1" in seen.kwargs
    assert consumer.state.tasks[str(failed.task_id)].exception == "no button"
    assert consumer.online() == {"bench-7", "queue@control", "reaper@control"}
    assert consumer.state.workers["bench-7"].sw_ident == "corral"


def test_a_task_that_comes_back_is_seen_to_move_back_and_to_run_again(
    fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]
):
    consumer, telling = consume(), tell()
    host = fleet.host(name="bench-7")
    run = fleet.running(host)
    host.report(run, "failed", cause="infrastructure", failure_reason="adb is gone")
    telling.tell_events()
    task_id = str(run.task_id)
    consumer.until(lambda: consumer.states().get(task_id) == "RETRY")
    assert consumer.state.tasks[task_id].exception == "adb is gone"
    fleet.assign()
    again = host.claim()
    assert again is not None
    telling.tell_events()
    consumer.until(lambda: consumer.states()[task_id] == "STARTED")
    host.report(again, "done")
    telling.tell_events()
    consumer.until(lambda: consumer.states()[task_id] == "SUCCESS")


def test_what_is_decided_for_a_host_that_is_gone_does_not_bring_it_back(
    fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]
):
    consumer, telling = consume(), tell()
    host = fleet.host(name="bench-7")
    run = fleet.running(host, max_attempts=1)
    telling.tell_events()
    consumer.until(lambda: "bench-7" in consumer.online())
    silence(fleet, host)
    telling.tell_heartbeats()
    consumer.until(lambda: "bench-7" not in consumer.online())
    fleet.expire(run)
    assert reap_expired_leases(fleet.plane) == 1
    telling.tell_events()
    consumer.until(lambda: consumer.states()[str(run.task_id)] == "FAILURE")
    assert consumer.told_of(run.task_id)[-1] == ("failed", "reaper@control")
    assert "bench-7" not in consumer.online()


def test_a_late_word_of_a_host_that_is_gone_does_not_bring_it_back(
    fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]
):
    host = fleet.host(name="bench-7")
    run = fleet.running(host)
    consumer, telling = consume(), tell()
    consumer.until(lambda: consumer.states() == {str(run.task_id): "STARTED"})
    host.report(run, "done")
    silence(fleet, host)
    telling.tell_heartbeats()
    telling.tell_events()
    consumer.until(lambda: consumer.states() == {str(run.task_id): "SUCCESS"})
    consumer.until(lambda: "bench-7" not in consumer.online())
    assert consumer.heard[-1]["type"] == "worker-offline"


def test_of_hosts_with_one_name_each_is_a_worker(fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]):
    first = fleet.host("PHONE1", name="bench")
    run = fleet.running(first)
    consumer = consume()
    telling = tell()
    consumer.until(lambda: "bench" in consumer.online())
    fleet.host("PHONE2", name="bench")
    first.report(run, "done")
    telling.tell_heartbeats()
    telling.tell_events()
    suffixed = f"bench~{first.host_id.hex[-6:]}"
    consumer.until(lambda: consumer.states() == {str(run.task_id): "SUCCESS"})
    assert {"bench", suffixed} <= consumer.online()
    assert consumer.told_of(run.task_id)[-1] == ("succeeded", suffixed)


def test_a_consumer_that_connects_is_shown_what_lives(fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]):
    host = fleet.host("PHONE1", "PHONE2", name="bench-7")
    ended, running = fleet.running(host), fleet.running(host)
    host.report(ended, "done")
    assigned = fleet.submit()
    fleet.assign()
    waiting = fleet.submit()
    telling = tell()
    consumer = consume()
    telling.answer_requests()
    assert consumer.states() == {}
    telling.requests.ask()
    telling.answer_requests()
    expected = {str(running.task_id): "STARTED", str(assigned): "RECEIVED", str(waiting): "RECEIVED"}
    consumer.until(lambda: consumer.states() == expected)
    assert consumer.told_of(waiting) == [("received", "queue@control")]
    started = consumer.state.tasks[str(running.task_id)].started
    shown = fleet.show(running.task_id).started_at
    assert shown is not None
    assert started == shown.timestamp()
    assert consumer.online() == {"bench-7", "queue@control", "reaper@control"}


def test_a_leader_goes_on_where_another_one_stopped(fleet: Fleet, consume: Consuming, tell: Callable[[], Telling]):
    consumer, first = consume(), tell()
    host = fleet.host(name="bench-7")
    run = fleet.running(host)
    first.tell_events()
    first.note_position()
    host.report(run, "done")
    missed = fleet.submit()
    second = Telling(fleet.plane, first.stream, at_once())
    second.answer_requests()
    second.tell_events()
    consumer.until(lambda: consumer.states() == {str(run.task_id): "SUCCESS", str(missed): "RECEIVED"})
    assert consumer.told_of(run.task_id).count(("started", "bench-7")) == 1


def test_a_batch_that_was_not_taken_is_told_again_and_nothing_is_left_out(
    fleet: Fleet, tmp_path_factory: pytest.TempPathFactory, database: Database
):
    server = EmbeddedValkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    stream = EventStream(server.url)
    try:
        telling = Telling(fleet.plane, stream, at_once())
        host = fleet.host(name="bench-7")
        with consuming(server.url, stream) as consumer:
            first = fleet.running(host)
            telling.tell_events()
            consumer.until(lambda: consumer.states() == {str(first.task_id): "STARTED"})
        # Taken, and heard by nobody any more.
        host.report(first, "done")
        telling.tell_events()
        server.stop()
        second = fleet.running(host)
        host.report(second, "done")
        for _ in range(2):
            with pytest.raises(NobodyTold):
                telling.tell_events()
        server.start()
        with consuming(server.url, stream) as returned:
            returned.state = consumer.state
            telling.tell_events()
            telling.requests.ask()
            telling.answer_requests()
            expected = {str(first.task_id): "SUCCESS", str(second.task_id): "SUCCESS"}
            returned.until(lambda: returned.states() == expected)
    finally:
        stream.close()
        server.stop()


def test_what_comes_in_heaps_goes_in_lists_and_in_order(
    fleet: Fleet, redis_url: str, consume: Consuming, tell: Callable[[], Telling]
):
    consumer, telling = consume(), tell()
    task_id = fleet.submit(name="many")
    _write_events(fleet, task_id, 1200)
    with redis.Redis.from_url(redis_url) as client:
        before = client.info("commandstats")["cmdstat_publish"]["calls"]
        telling.tell_events()
        assert client.info("commandstats")["cmdstat_publish"]["calls"] - before == 3
    consumer.until(lambda: len(consumer.told_of(task_id)) == 1201)
    attempts = [event["retries"] for event in consumer.heard if event["type"] == "task-received"]
    assert attempts == list(range(1201))


def _write_events(fleet: Fleet, task_id: UUID, how_many: int) -> None:
    with fleet.plane.database.transaction() as tx:
        tx.run(
            "INSERT INTO task_events (task_id, at, kind, attempt, actor, details)"
            " SELECT :task_id, corral_now(), 'task.queued', number, 'test', '{}'"
            " FROM generate_series(1, :how_many) AS number ORDER BY number",
            task_id=task_id,
            how_many=how_many,
        )


def test_a_crowd_that_asks_is_answered_by_one_snapshot_when_all_of_it_has_subscribed():
    now = 100.0
    requests = Requests(clock=lambda: now)
    assert not requests.take()
    for _ in range(300):
        requests.ask()
    assert not requests.take()
    now += Requests.ANSWERED_AFTER_SECONDS
    assert requests.take()
    assert not requests.take()
    requests.ask()
    now += Requests.ANSWERED_AFTER_SECONDS
    assert not requests.take()
    now += Requests.APART_SECONDS
    assert requests.take()


def test_consumers_that_ask_all_the_time_put_nobody_off():
    now = 100.0
    requests = Requests(clock=lambda: now)
    answered = 0
    for _ in range(100):
        requests.ask()
        now += 0.1
        answered += requests.take()
    assert answered == pytest.approx(10, abs=1)
    now += Requests.APART_SECONDS
    assert requests.take()
