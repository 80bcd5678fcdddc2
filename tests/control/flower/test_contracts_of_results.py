"""What Corral takes for granted of Celery's results and of how a task ends, which nobody documents."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from celery import chain, states
from celery.app.task import Context
from celery.app.trace import build_tracer
from celery.exceptions import Ignore, TaskRevokedError
from celery.result import denied_join_result

from control.jobs.celery_app import CeleryApp
from control.jobs.front_door_app import TASK_NAME, front_door_app
from corral.stack.valkey import EmbeddedValkey
from tests.control.flower.contract import needed_by

# Celery stores results by a call that redis-py takes for old.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex")

ANSWERS = "control/jobs/front_door_answers.py"


class Failed(Exception):
    """Something went wrong."""


@pytest.fixture(scope="module")
def app(valkey: EmbeddedValkey) -> Iterator[CeleryApp]:
    app = front_door_app(valkey.url, queue="contracts")
    yield app
    app.close()


@pytest.fixture
def task_id() -> str:
    return str(uuid.uuid4())


def said_of(app: CeleryApp, task_id: str) -> tuple[str, Any]:
    meta = app.backend.get_task_meta(task_id)
    return meta["status"], meta["result"]


@needed_by(ANSWERS, so_that="each end of a device task is an end that clients of Celery understand")
def test_each_end_is_stored_as_a_worker_would_store_it(app: CeleryApp):
    done, failed, revoked = (str(uuid.uuid4()) for _ in range(3))
    app.backend.mark_as_done(done, {"note": 1}, request=Context(id=done))
    app.backend.mark_as_failure(failed, Failed("no such text"), request=Context(id=failed))
    error = TaskRevokedError("cancelled by ann")
    app.backend.mark_as_failure(revoked, error, request=Context(id=revoked), state=states.REVOKED)
    told = [app.AsyncResult(one) for one in (done, failed, revoked)]
    # Asked for its state first, a result that is there is not waited for.
    assert [result.state for result in told] == [states.SUCCESS, states.FAILURE, states.REVOKED]
    assert told[0].get() == {"note": 1}
    with pytest.raises(Exception, match="no such text"):
        told[1].get()
    with pytest.raises(TaskRevokedError, match="cancelled by ann"):
        told[2].get()


@needed_by(ANSWERS, so_that="a state with progress may be stored over another, until a task has ended")
def test_states_may_follow_each_other_and_success_is_final(app: CeleryApp, task_id: str):
    store = app.backend.store_result
    store(task_id, None, "QUEUED", request=Context(id=task_id))
    store(task_id, {"step": 3}, states.STARTED, request=Context(id=task_id))
    assert said_of(app, task_id) == (states.STARTED, {"step": 3})
    app.backend.mark_as_done(task_id, 1, request=Context(id=task_id))
    store(task_id, {"step": 4}, states.STARTED, request=Context(id=task_id))
    assert said_of(app, task_id) == (states.SUCCESS, 1)


@needed_by("control/flower/results.py", so_that="one publisher alone, and in order, tells what became of a task")
def test_failure_is_not_final(app: CeleryApp, task_id: str):
    app.backend.mark_as_failure(task_id, Failed("no"), request=Context(id=task_id))
    app.backend.store_result(task_id, None, states.STARTED, request=Context(id=task_id))
    assert said_of(app, task_id)[0] == states.STARTED


@needed_by(ANSWERS, so_that="clients hear where a task is without waiting for its end")
def test_a_request_is_rebuilt_from_the_part_of_its_message_that_was_kept(app: CeleryApp):
    request: Any = Context(id="1", group="g", group_index=2, chain=[], delivery_info={}, task=TASK_NAME)
    assert (request.id, request.group, request.group_index) == ("1", "g", 2)
    assert (request.ignore_result, request.callbacks, request.errbacks, request.chord) == (False, None, None, None)
    request.children.append("2")
    assert request.children == ["2"]


@needed_by(ANSWERS, so_that="the steps after a task that failed or was cancelled end as it did")
@pytest.mark.parametrize(("state", "error"), [(states.FAILURE, Failed("no")), (states.REVOKED, TaskRevokedError("no"))])
def test_a_failure_is_told_to_all_later_steps_of_a_chain(app: CeleryApp, task_id: str, state: str, error: Exception):
    second, third = str(uuid.uuid4()), str(uuid.uuid4())
    steps = chain(
        app.signature("first", task_id=task_id),
        app.signature("second", task_id=second),
        app.signature("third", task_id=third),
        app=app,
    )
    with denied_join_result():
        steps.apply_async(queue="contracts")
    kept = sent(app).payload[2]["chain"]
    app.backend.mark_as_failure(task_id, error, request=Context(id=task_id, chain=kept), state=state)
    assert [said_of(app, one)[0] for one in (task_id, second, third)] == [state] * 3
    # Celery keeps the steps in reverse: the next one is the last.
    assert [step["task"] for step in kept] == ["third", "second"]


@needed_by(ANSWERS, so_that="a chord's body runs once all of its device tasks are done")
def test_the_last_part_of_a_chord_starts_its_body(app: CeleryApp):
    body, group = app.signature("body", queue="contracts"), str(uuid.uuid4())
    # A client does so when it sends a chord.
    app.backend.set_chord_size(group, 2)
    for number in range(2):
        part = Context(id=str(uuid.uuid4()), group=group, group_index=number, chord=body)
        with denied_join_result():
            app.backend.mark_as_done(part.id, number, request=part)
    assert sent(app).payload[0] == [[0, 1]]


def sent(app: CeleryApp) -> Any:
    """The next message in the queue."""
    with app.connection() as connection:
        return app.conf.task_queues[0].bind(connection.channel()).get(no_ack=True)


@needed_by("control/jobs/front_door.py", so_that="accepting a task says nothing of its end")
def test_a_task_that_steps_aside_leaves_no_result(app: CeleryApp, task_id: str):
    def step_aside() -> None:
        raise Ignore

    task = app.task(step_aside, name="tests.step_aside", shared=False, ignore_result=False, track_started=False)
    app.backend.store_result(task_id, None, "QUEUED")
    trace = build_tracer(task.name, task, app=app)
    traced = trace(task_id, (), {}, {"id": task_id, "delivery_info": {}})
    assert traced.info.state == states.IGNORED
    assert said_of(app, task_id)[0] == "QUEUED"
