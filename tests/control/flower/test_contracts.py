"""What Corral takes for granted of Celery's events, which nobody documents, and the versions that were looked at."""

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pytest
from celery.events import EventReceiver
from celery.events.event import get_exchange
from celery.events.state import State
from kombu import Producer

from control.jobs.celery_app import celery_app
from corral.stack.valkey import EmbeddedValkey
from tests.control.flower.contract import needed_by

#: The minor versions whose sources were read for Corral.
LOOKED_AT = {"celery": "5.7", "kombu": "5.7", "flower": "2.2"}


@pytest.mark.parametrize("package", LOOKED_AT)
def test_the_version_is_one_that_was_looked_at(package: str):
    assert version(package).startswith(f"{LOOKED_AT[package]}."), (
        f"{package} {version(package)} is here; Corral uses interfaces of {package} {LOOKED_AT[package]} that are not "
        "documented. Run tests/control/flower and tests/control/jobs; look in its changes and sources for each "
        "interface that tests/control/flower/test_contracts*.py list; then raise LOOKED_AT here and the pin in "
        "pyproject.toml"
    )


def now() -> float:
    return datetime.now(tz=UTC).timestamp()  # noqa: TID251 - Celery judges by the wall clock


def heard(*events: dict[str, Any]) -> State:
    """The state of somebody who has heard these events, all under one task and one worker unless they say otherwise."""
    state, at = State(), now()
    for clock, event in enumerate(events):
        usual = {"hostname": "rack-a", "uuid": "1", "timestamp": at, "local_received": at, "clock": clock}
        state.event(usual | event)
    return state


def states_after(*kinds: str) -> str:
    return heard(*({"type": f"task-{kind}"} for kind in kinds)).tasks["1"].state


@needed_by("control/flower/events.py", so_that="each state of a task has an event that shows it")
def test_each_event_of_a_task_is_a_state():
    assert states_after("received") == "RECEIVED"
    assert states_after("received", "started") == "STARTED"
    assert states_after("received", "started", "succeeded") == "SUCCESS"
    assert states_after("received", "started", "failed") == "FAILURE"
    assert states_after("received", "revoked") == "REVOKED"
    assert states_after("received", "started", "revoked") == "REVOKED"
    assert states_after("received", "failed") == "FAILURE"


@needed_by("control/flower/events.py", so_that="a task that lost its host waits again")
def test_only_a_retry_moves_a_task_back():
    assert states_after("received", "started", "received") == "STARTED"
    assert states_after("received", "started", "retried") == "RETRY"
    assert states_after("received", "started", "retried", "received") == "RECEIVED"
    assert states_after("received", "started", "retried", "received", "started") == "STARTED"
    assert states_after("received", "started", "succeeded", "started") == "SUCCESS"


@needed_by("control/flower/events.py", so_that="a cancel that is pending is told by no event")
def test_an_event_that_celery_does_not_know_becomes_the_state_and_stays():
    assert states_after("received", "started", "cancelling") == "CANCELLING"
    assert states_after("received", "started", "cancelling", "started") == "CANCELLING"


@needed_by("control/flower/events.py", so_that="a snapshot may tell in any order what a task is and where it stands")
def test_what_a_task_is_called_comes_from_its_receipt_even_a_late_one():
    receipt = {"type": "task-received", "name": "corral.flow", "args": "()", "kwargs": "{}", "retries": 2, "eta": None}
    task = heard({"type": "task-started"}, receipt).tasks["1"]
    assert (task.state, task.name, task.args, task.kwargs, task.retries) == ("STARTED", "corral.flow", "()", "{}", 2)


@needed_by("control/flower/events.py", so_that="the end of a task says what came of it")
def test_what_came_of_a_task_comes_from_its_last_event():
    state = heard(
        {"type": "task-received", "uuid": "done"},
        {"type": "task-succeeded", "uuid": "done", "result": "{}", "runtime": 1.5},
        {"type": "task-failed", "uuid": "failed", "exception": "no such text", "traceback": None},
        {"type": "task-revoked", "uuid": "revoked", "terminated": True, "signum": None, "expired": False},
    )
    done, failed, revoked = (state.tasks[name] for name in ("done", "failed", "revoked"))
    assert (done.result, done.runtime) == ("{}", 1.5)
    assert failed.exception == "no such text"
    assert revoked.terminated


@needed_by("control/flower/events.py", so_that="a task is shown under the host that has it now")
def test_a_task_is_with_the_worker_of_its_last_event():
    task = heard({"type": "task-received", "hostname": "queue@control"}, {"type": "task-received"}).tasks["1"]
    assert task.worker.hostname == "rack-a"


@needed_by("control/flower/events.py", so_that="what is told of a dead host's tasks is told under another name")
def test_an_event_of_a_task_is_a_sign_of_life_of_its_worker():
    assert heard({"type": "task-received"}).workers["rack-a"].alive


@needed_by(
    "control/flower/bridge.py", "control/flower/workers.py", so_that="a host is online as long as it has heartbeats"
)
def test_a_worker_lives_for_two_heartbeats_or_until_it_says_that_it_left():
    beat = {"type": "worker-heartbeat", "freq": 5, "active": 3, "processed": 7, "sw_ident": "corral", "sw_ver": "1"}
    worker = heard(beat).workers["rack-a"]
    assert (worker.active, worker.processed, worker.sw_ident, worker.sw_ver) == (3, 7, "corral", "1")
    assert worker.heartbeat_expires - now() == pytest.approx(10, abs=2)
    assert worker.alive
    late = {"local_received": now() - 11, "timestamp": now() - 11}
    assert not heard(beat | late).workers["rack-a"].alive
    assert not heard(beat, {"type": "worker-offline"}).workers["rack-a"].alive
    assert heard({"type": "worker-online", "freq": 5}).workers["rack-a"].alive


@needed_by(
    "control/flower/stream.py", "control/flower/captured_events.py", so_that="hundreds of events go in one message"
)
def test_a_list_of_events_arrives_as_so_many_events_in_order_each_with_its_own_worker(valkey: EmbeddedValkey):
    app = celery_app(valkey.url)
    events = [{"type": "worker-heartbeat", "hostname": f"rack-{n}", "timestamp": 1000.0 + n} for n in range(3)]
    arrived: list[dict[str, Any]] = []
    with app.connection() as connection, app.connection() as other:
        receiver = EventReceiver(connection, handlers={"*": arrived.append}, app=app)
        assert (receiver.exchange.name, receiver.exchange.type) == ("celeryev", "fanout")
        capturing = receiver.itercapture(timeout=5, wakeup=False)
        # Before the first step nothing is subscribed to; it ends when Redis has confirmed the subscription.
        next(capturing)
        exchange = get_exchange(other)
        Producer(other.channel(), exchange).publish(events, routing_key="task.multi", declare=[exchange])
        while not arrived:
            next(capturing)
        capturing.close()
    app.close()
    assert [event["hostname"] for event in arrived] == ["rack-0", "rack-1", "rack-2"]
    # Without a time zone an instant is taken as it is, and without a clock each is counted as it comes.
    assert [event["timestamp"] for event in arrived] == [1000.0, 1001.0, 1002.0]
    clocks = [event["clock"] for event in arrived]
    assert clocks == sorted(set(clocks))


@needed_by("control/flower/captured_events.py", so_that="Flower connects anew when its connection fell silent")
def test_whoever_captures_events_gives_up_on_silence(valkey: EmbeddedValkey):
    app = celery_app(valkey.url)
    with app.connection() as connection, pytest.raises(TimeoutError):
        EventReceiver(connection, app=app).capture(limit=None, timeout=1, wakeup=False)
    app.close()
