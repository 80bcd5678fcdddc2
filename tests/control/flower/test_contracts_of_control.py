"""What Corral takes for granted of Celery's remote control and of its workers, which nobody documents."""

import atexit
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery import states
from celery.events import event
from celery.result import AsyncResult, GroupResult
from celery.utils.collections import LimitedSet
from celery.worker import control, state as worker_state
from celery.worker.components import StateDB
from celery.worker.pidbox import Pidbox
from celery.worker.request import Request
from celery.worker.strategy import default as default_strategy
from kombu import Producer
from kombu.clocks import LamportClock
from kombu.matcher import match

from control.jobs.celery_app import CeleryApp, celery_app
from corral.stack.valkey import EmbeddedValkey
from tests.control.flower.contract import needed_by, overheard

# Celery stores results by a call that redis-py takes for old.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex")

LISTENER = "control/flower/listener.py"
PANEL = "control/jobs/revokes.py"


@pytest.fixture(scope="module")
def app(valkey: EmbeddedValkey) -> Iterator[CeleryApp]:
    app = celery_app(valkey.url, connect_retries=1)
    yield app
    app.close()


@needed_by(LISTENER, "control/flower/commands.py", so_that="it understands each way to revoke")
def test_every_way_to_revoke_is_one_message_to_the_pidbox(app: CeleryApp):
    mailbox = app.control.mailbox
    assert (mailbox.exchange.name, mailbox.exchange.type) == ("celery.pidbox", "fanout")
    with overheard(app, mailbox.get_queue("listener")) as said:
        app.control.revoke("1", terminate=True, signal="SIGKILL")
        first = said()
        assert {key: value for key, value in first.items() if value is not None} == {
            "method": "revoke",
            "arguments": {"task_id": "1", "terminate": True, "signal": "SIGKILL"},
        }
        app.control.revoke(["1", "2"], destination=["rack-a"])
        second = said()
        assert (second["arguments"]["task_id"], second["destination"]) == (["1", "2"], ["rack-a"])
        assert not second["arguments"]["terminate"]
        AsyncResult("3", app=app).revoke()
        assert said()["arguments"]["task_id"] == "3"
        # A whole group would listen for its results for as long as the application lives.
        GroupResult.revoke(SimpleNamespace(app=app, results=[SimpleNamespace(id="4"), SimpleNamespace(id="5")]))
        assert said()["arguments"]["task_id"] == ["4", "5"]
        app.control.terminate("6")
        sixth = said()
        assert (sixth["method"], sixth["arguments"]["task_id"], sixth["arguments"]["terminate"]) == (
            "revoke",
            "6",
            True,
        )


@needed_by(LISTENER, "control/flower/captured_events.py", so_that="a Flower that has connected is told what there is")
def test_a_consumer_of_events_that_wakes_workers_broadcasts_heartbeat_to_all(app: CeleryApp):
    with overheard(app, app.control.mailbox.get_queue("listener")) as said, app.connection() as connection:
        app.events.Receiver(connection).wakeup_workers()
        woken = said()
    assert {key: value for key, value in woken.items() if value is not None} == {"method": "heartbeat", "arguments": {}}


@needed_by(LISTENER, so_that="one message answers for hundreds of hosts")
def test_one_reply_may_speak_for_many_workers(app: CeleryApp):
    def answer(body: dict[str, Any], connection: Any) -> None:
        exchange = app.control.mailbox.reply_exchange
        assert body["reply_to"]["exchange"] == exchange.name == "reply.celery.pidbox"
        Producer(connection.channel(), auto_declare=False).publish(
            {"rack-a": {"ok": "pong"}, "rack-b": {"ok": "pong"}},
            exchange=exchange,
            declare=[exchange],
            routing_key=body["reply_to"]["routing_key"],
            headers={"ticket": body["ticket"], "clock": 1},
            serializer="json",
        )

    def listen() -> None:
        with overheard(app, app.control.mailbox.get_queue("listener")) as said, app.connection() as connection:
            is_listening.set()
            answer(said(), connection)

    is_listening = threading.Event()
    thread = threading.Thread(target=listen)
    thread.start()
    is_listening.wait(5)
    asked = app.control.inspect(limit=1, timeout=5).ping()
    thread.join()
    assert asked == {"rack-a": {"ok": "pong"}, "rack-b": {"ok": "pong"}}


@needed_by(PANEL, so_that="the workers of jobs cancel device tasks by commands of their own in place of Celery's")
def test_a_command_is_replaced_by_the_next_one_of_its_name(monkeypatch: pytest.MonkeyPatch):
    assert list(inspect.signature(control.revoke).parameters) == ["state", "task_id", "terminate", "signal", "kwargs"]
    assert list(inspect.signature(control.terminate).parameters) == ["state", "signal", "task_id", "kwargs"]
    monkeypatch.setattr(control.Panel, "data", dict(control.Panel.data))
    monkeypatch.setattr(control.Panel, "meta", dict(control.Panel.meta))

    @control.control_command(name="revoke", variadic="task_id", signature="[id1 [id2 [... [idN]]]]")
    def ours(state: object, task_id: object, **_: Any) -> None: ...

    assert control.Panel.data["revoke"] is ours
    assert control.revoke is not ours


@needed_by(PANEL, so_that="a command knows whose worker it is for, and finds where that one keeps what is revoked")
def test_a_command_is_told_of_its_application_and_its_worker(app: CeleryApp):
    controller = SimpleNamespace(use_eventloop=False)
    consumer = SimpleNamespace(app=app, hostname="jobs@here", controller=controller)
    told = Pidbox(consumer).node.state
    assert (told.app, told.hostname, told.consumer.controller) == (app, "jobs@here", controller)


@needed_by(PANEL, so_that="revoked ids that are no device tasks go on to Celery's own command")
def test_a_revoke_is_remembered_and_written_into_results_of_tasks_that_have_not_begun(app: CeleryApp):
    app.backend.store_result("waits", None, "QUEUED")
    app.backend.store_result("runs", None, states.STARTED)
    remembered = set(worker_state.revoked)
    try:
        replied = control.revoke(SimpleNamespace(app=app), ["waits", "runs", "unknown"])
        assert "ok" in replied
        assert {"waits", "runs", "unknown"} <= set(worker_state.revoked)
        # Hence an accepted device task is QUEUED or STARTED there, and never PENDING.
        known = [app.backend.get_state(task_id) for task_id in ("waits", "runs", "unknown")]
        assert known == ["QUEUED", states.STARTED, states.REVOKED]
    finally:
        for task_id in set(worker_state.revoked) - remembered:
            worker_state.revoked.discard(task_id)


@needed_by("control/flower/reconciliation.py", so_that="a revoke that no bridge heard is found with the workers")
def test_workers_tell_what_they_remember_as_revoked_whatever_else_they_are_told():
    worker_state.revoked.add("remembered")
    try:
        assert "remembered" in control.Panel.data["revoked"](SimpleNamespace(), asked_by="corral")
    finally:
        worker_state.revoked.discard("remembered")


@needed_by("control/jobs/worker.py", PANEL, so_that="revokes outlive the worker that remembers them, a killed one too")
def test_a_worker_with_a_file_for_its_state_keeps_revokes_there_when_it_is_told_to(tmp_path: Path):
    def life() -> SimpleNamespace:
        revoked = LimitedSet(maxlen=10, expires=60)
        state = SimpleNamespace(revoked=revoked, merge_revoked=revoked.update, Persistent=worker_state.Persistent)
        app = SimpleNamespace(clock=LamportClock())
        worker = SimpleNamespace(statedb=str(tmp_path / "state"), state=state, app=app)
        StateDB(worker).create(worker)
        atexit.unregister(worker._persistence.save)
        return worker

    first = life()
    first.state.revoked.add("1")
    first._persistence.sync()
    first._persistence.close()
    second = life()
    second._persistence.close()
    assert list(second.state.revoked) == ["1"]


@needed_by("control/jobs/worker.py", so_that="it knows a worker that was stopped from one that lost its broker")
def test_a_worker_that_was_asked_to_stop_says_so():
    assert worker_state.should_stop is None
    assert worker_state.should_terminate is None


@needed_by(
    "control/flower/web.py", "control/jobs/worker.py", so_that="Flower's page of a worker of jobs shows no password"
)
def test_what_a_worker_tells_of_its_configuration_hides_passwords():
    app = celery_app("redis://someone:a-secret@cache:6379/0")
    assert "a-secret" not in repr(control.Panel.data["conf"](SimpleNamespace(app=app)))
    with app.connection() as connection:
        assert "a-secret" not in connection.as_uri()
        assert "a-secret" not in repr({**connection.info(), "password": None})


@needed_by("control/flower/commands.py", so_that="a command for a pattern of names finds hosts too")
def test_a_pattern_of_names_is_matched_by_kombu():
    assert match("rack-a", "rack-*", "glob")
    assert not match("rack-a", "bench-*", "glob")


@needed_by("control/flower/workers.py", so_that="heartbeats of hosts are dated as those of workers")
def test_an_event_is_dated_when_it_is_made():
    made = event.Event("worker-heartbeat", hostname="rack-a")
    assert (made["type"], made["hostname"]) == ("worker-heartbeat", "rack-a")
    assert made["timestamp"] > 0


@needed_by("control/jobs/front_door.py", so_that="every message comes to its task, one with an eta or a revoke too")
def test_a_task_may_have_a_class_for_its_requests_that_is_asked_whether_to_wait_or_to_drop(app: CeleryApp):
    class LetIn(Request):
        eta = None

        def revoked(self) -> bool:
            asked.append(self.id)
            return False

    def run() -> None: ...

    asked: list[str] = []
    handled: list[Any] = []
    task = app.task(run, name="tests.let_in", shared=False, Request=LetIn)
    handle = default_strategy(task, app, _consumer(app, handled.append, revoked={"1"}))
    headers = {"id": "1", "task": task.name, "eta": "2999-01-01T00:00:00+00:00", "root_id": "1", "lang": "py"}
    payload = ((), {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None})
    message = SimpleNamespace(
        headers=headers,
        payload=payload,
        body=payload,
        properties={},
        delivery_info={},
        content_type="application/json",
        content_encoding="utf-8",
    )
    handle(message, None, pytest.fail, pytest.fail, [])
    assert asked == ["1"]
    assert [request.id for request in handled] == ["1"]
    assert isinstance(handled[0], LetIn)


def _consumer(app: CeleryApp, handle: Any, *, revoked: set[str]) -> Any:
    """As much of a worker as a strategy for messages asks for."""
    return SimpleNamespace(
        hostname="test@here",
        connection_errors=(),
        event_dispatcher=None,
        timer=SimpleNamespace(call_at=pytest.fail),
        apply_eta_task=pytest.fail,
        disable_rate_limits=True,
        task_buckets={},
        on_task_request=handle,
        _limit_task=pytest.fail,
        _limit_post_eta=pytest.fail,
        pool=SimpleNamespace(apply_async=None),
        controller=SimpleNamespace(state=SimpleNamespace(revoked=revoked)),
        app=app,
    )
