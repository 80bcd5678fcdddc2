"""Whole bridges: who leads, what a consumer gets that asks, and what their logs say of an outage."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from sqlalchemy.exc import ProgrammingError
from structlog.testing import capture_logs

from control.flower.bridge import Bridge
from control.flower.leader import Leader
from control.flower.leadership import Leadership
from control.flower.snapshot import Requests
from control.flower.stream import EventStream
from control.jobs.celery_app import celery_app
from control.operations.plane import Plane
from control.store.database import Database
from control.store.job_runs import Lock
from control.store.leadership import SessionLock
from corral.stack.valkey import EmbeddedValkey
from tests.control.fleet import Fleet
from tests.control.flower.consumer import Consumer, consuming
from tests.control.flower.listening import eventually
from tests.control.redis_conditions import redis_url

__all__ = ["redis_url"]


def address_of(database: Database) -> str:
    return database._engine.url.render_as_string(hide_password=False)


class Rounds:
    """A replica without a listener, whose clock and rounds are a test's."""

    def __init__(self, plane: Plane, redis_url: str) -> None:
        self.now = 1000.0
        self.lock = SessionLock(address_of(plane.database), Lock.LEAD_BRIDGE, application_name="test")
        self.leadership = Leadership(self.lock, clock=self._clock)
        self.stream = EventStream(redis_url)
        self.app = celery_app(redis_url)
        self.leader = Leader(
            plane, self.leadership, self.stream, Requests(), app=self.app, results_app=None, clock=self._clock
        )

    def _clock(self) -> float:
        return self.now

    def go(self, *, after_seconds: float = 1.0) -> None:
        self.now += after_seconds
        self.leader.go_round()

    def die(self) -> None:
        """What the kernel does with the connections of a process that is killed."""
        self.lock.close()

    def close(self) -> None:
        self.leader.stop()
        self.app.close()


@pytest.fixture
def replica(plane: Plane, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Rounds]]:
    # It waits half a second for answers of workers, of which there are none here.
    monkeypatch.setattr("control.flower.leader.reconcile_revokes", lambda *_, **__: 0)
    with ExitStack() as stack:

        def replica(url: str = redis_url) -> Rounds:
            made = Rounds(plane, url)
            stack.callback(made.close)
            return made

        yield replica


def test_a_second_replica_takes_over_and_tells_what_the_first_one_did_not(
    fleet: Fleet, replica: Callable[..., Rounds], redis_url: str
):
    first, second = replica(), replica()
    host = fleet.host(name="bench-7")
    with consuming(redis_url, first.stream) as consumer:
        for one in (first, second, first, second):
            one.go()
        assert (first.leadership.is_held, second.leadership.is_held) == (True, False)
        run = fleet.running(host)
        for one in (first, second):
            one.go()
        consumer.until(lambda: consumer.states() == {str(run.task_id): "STARTED"})
        assert consumer.told_of(run.task_id).count(("started", "bench-7")) == 1
        host.report(run, "done")
        first.die()
        # Postgres takes a moment to see that the connection has ended.
        eventually(lambda: second.go(after_seconds=Leadership.SEEK_SECONDS) or second.leadership.is_held)
        consumer.until(lambda: consumer.states() == {str(run.task_id): "SUCCESS"})


def test_an_outage_of_redis_has_two_lines_and_loses_nothing(
    fleet: Fleet, replica: Callable[..., Rounds], tmp_path_factory: pytest.TempPathFactory
):
    server = EmbeddedValkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    try:
        bridge = replica(server.url)
        bridge.go()
        server.stop()
        task_id = fleet.submit()
        with capture_logs() as logs:
            for _ in range(3):
                bridge.go()
            server.start()
            with consuming(server.url, bridge.stream) as consumer:
                for _ in range(4):
                    bridge.go()
                consumer.until(lambda: consumer.states() == {str(task_id): "RECEIVED"})
        assert [line["event"] for line in logs] == ["bridge.outage", "bridge.outage_over"]
        assert {line["of"] for line in logs} == {"redis"}
    finally:
        server.stop()


def test_a_replica_that_loses_postgres_leads_no_more_and_leads_again_when_it_is_back(
    database: Database, replica: Callable[..., Rounds]
):
    bridge = replica()
    with capture_logs() as logs:
        bridge.go()
        with database.statement() as tx:
            tx.run("SELECT pg_terminate_backend(:session)", session=bridge.leadership.term)
        bridge.go()
        assert not bridge.leadership.is_held
        bridge.go()
        assert bridge.leadership.is_held
    said = [line["event"] for line in logs]
    assert said == ["bridge.leads", "bridge.outage", "bridge.follows", "bridge.outage_over", "bridge.leads"]


@pytest.mark.parametrize("mistake", [ZeroDivisionError(), ProgrammingError("SELCT 1", {}, Exception())])
def test_one_duty_that_fails_keeps_no_other_from_being_done(
    fleet: Fleet, replica: Callable[..., Rounds], redis_url: str, monkeypatch: pytest.MonkeyPatch, mistake: Exception
):
    def fail(*_: object, **__: object) -> int:
        raise mistake

    monkeypatch.setattr("control.flower.leader.reconcile_revokes", fail)
    bridge = replica()
    task_id = fleet.submit()
    with consuming(redis_url, bridge.stream) as consumer, capture_logs() as logs:
        bridge.go()
        consumer.until(lambda: consumer.states() == {str(task_id): "RECEIVED"})
        consumer.until(lambda: "queue@control" in consumer.online())
    assert [line["duty"] for line in logs if line["event"] == "bridge.duty_failed"] == ["reconcile"]


@contextmanager
def bridging(plane: Plane, redis_url: str) -> Iterator[Bridge]:
    """A whole bridge in a thread."""
    lock = SessionLock(address_of(plane.database), Lock.LEAD_BRIDGE, application_name="test")
    leadership = Leadership(lock)
    bridge = Bridge(
        plane, leadership, redis_url=redis_url, name="bridge@test", celery_queue="celery", is_front_door_open=True
    )
    stop = threading.Event()
    thread = threading.Thread(target=bridge.run, args=(stop.wait,))
    thread.start()
    try:
        eventually(lambda: leadership.is_held)
        yield bridge
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_a_consumer_that_begins_anew_is_shown_what_lives(fleet: Fleet, plane: Plane, redis_url: str):
    host = fleet.host(name="bench-7")
    running, waiting = fleet.running(host), fleet.submit()
    with bridging(plane, redis_url):
        for _ in range(2):
            consumer = Consumer(redis_url)
            try:
                asked = _ask_again_until_heard(consumer)
                consumer.until(lambda: asked() or consumer.state.tasks)  # noqa: B023 - used in this turn of the loop
                expected = {str(running.task_id): "STARTED", str(waiting): "RECEIVED"}
                consumer.until(lambda: consumer.states() == expected)  # noqa: B023 - as above
                consumer.until(lambda: len(consumer.online()) == 3)  # noqa: B023 - as above
            finally:
                consumer.connection.release()
                consumer.app.close()


def _ask_again_until_heard(consumer: Consumer) -> Callable[[], None]:
    """As Flower does when it starts; again, for here nobody knows when the listener has subscribed."""
    asked = iter(range(1_000))

    def ask() -> None:
        if next(asked) % 25 == 0:
            consumer.receiver.wakeup_workers()

    return ask


def test_the_program_leads_and_ends_in_order_on_sigterm(plane: Plane, redis_url: str, tmp_path: Any):
    environment = os.environ | {
        "CORRAL_DATABASE_URL": address_of(plane.database).replace("postgresql+psycopg", "postgresql"),
        "CORRAL_REDIS_URL": redis_url,
        "CORRAL_ARTIFACTS_DIR": str(tmp_path),
        "CORRAL_LOG_FORMAT": "json",
    }
    command = [sys.executable, "-W", "error", "-m", "corral", "bridge", "--name", "one"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        events: list[str] = []
        for line in process.stderr:
            events.append(json.loads(line)["event"])
            if {"bridge.leads", "pidbox.connected"} <= set(events):
                process.send_signal(signal.SIGTERM)
                break
        events += [json.loads(line)["event"] for line in process.stderr]
        assert process.wait(20) == 0
    assert events[0] == "bridge.started"
    assert events[-1] == "bridge.stopped"
