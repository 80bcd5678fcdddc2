"""What the front door takes in, what it refuses, and what it says of both."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
import structlog
from celery import states
from celery.app.task import Context
from celery.exceptions import Reject
from celery.worker import state as worker_state

from control.jobs.front_door import FrontDoor
from control.jobs.front_door_app import UnusableQueue, front_door_app
from control.operations.front_door import cancel_expired_tasks
from control.operations.tasks import list_events
from control.store.celery_revokes import keep_revokes, lock_celery_id
from control.store.database import Database
from corral.contract.identifiers import uuid7
from corral.stack.ports import free_port
from corral.stack.valkey import EmbeddedValkey
from tests.control.fleet import FLOW
from tests.control.front_door import (
    CELERY_STORES_AS_IT_DOES,
    QUEUE,
    SUBMITTER,
    empty,
    get_error,
    opened_front_door,
    until,
)

pytestmark = pytest.mark.filterwarnings(CELERY_STORES_AS_IT_DOES)


@pytest.fixture(scope="module")
def opened(shared_database, valkey: EmbeddedValkey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifacts")
    with opened_front_door(shared_database, valkey, number=1, folder=folder) as world:
        yield world


@pytest.fixture
def world(opened):
    empty(opened.plane.database)
    return opened


def refused(sent) -> str:
    """The words with which a task was refused."""
    error = get_error(sent)
    # Of a chain's last step, `get` raises what the first one is told, a moment before the last is told it.
    until(lambda: sent.state == states.FAILURE)
    return f"{type(error).__name__}: {error}"


def events(world, sent) -> list[tuple[str, str]]:
    told = list_events(world.plane, UUID(sent.id)).events
    return [(event.kind.value.removeprefix("task."), event.actor) for event in told]


def test_a_task_is_queued_under_its_celery_id_by_the_submitter(world):
    sent = world.accepted(labels={"team": "green"}, env={"AUTHOR": "Grace"})
    shown = world.fleet.show(UUID(sent.id))
    assert (shown.status, shown.created_by, shown.labels) == ("queued", f"celery:{SUBMITTER}", {"team": "green"})
    assert sent.info == {"attempt": 0}
    assert world.plane.doorbell.rung


def test_the_kind_goes_without_saying(world):
    sent = world.client.send_task("corral.run", kwargs={"goal": "Write a note."})
    world.wait_for(sent.id)
    assert world.fleet.show(UUID(sent.id)).kind == "goal"


def test_a_message_that_comes_again_is_one_task_and_is_told_nothing(world):
    sent = world.accepted(name="first")
    world.client.backend.store_result(sent.id, None, "STARTED")
    world.send(name="again", options={"task_id": sent.id})
    world.send(flow="- noSuchCommand", options={"task_id": sent.id})
    world.accepted(name="after both")
    assert world.fleet.show(UUID(sent.id)).name == "first"
    assert sent.state == "STARTED"


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({}, "InvalidRequest: kwargs: there is nothing to run: name the fields of a task"),
        ({"flw": FLOW}, "InvalidRequest: kwargs.flw: there is no such field; it is one of agent, "),
        ({"flow": FLOW, "priority": 101}, "InvalidRequest: kwargs.priority: Input should be less than or equal to 100"),
        ({"flow": FLOW, "goal": "Write."}, "InvalidRequest: kwargs: kind 'flow' takes no `goal`"),
        ({"name": "x"}, "InvalidRequest: kwargs: kind 'flow' needs the flow's YAML text in `flow`"),
        ({"flow": "- tapOnn: x"}, "InvalidFlow: flow.yaml"),
        ({"flow": FLOW, "env": {"A": "x" * 1024 * 1024}}, "BodyTooLarge: kwargs: more than 1048576 bytes"),
    ],
)
def test_a_wrong_submission_fails_with_the_words_of_the_api(world, kwargs, words):
    assert words in refused(world.client.send_task("corral.run", args=["former result"], kwargs=kwargs))


def test_a_time_to_wait_for_is_refused(world):
    assert "InvalidRequest: eta: a task cannot wait for a time" in refused(world.send(options={"countdown": 60}))


def test_a_submission_is_as_long_as_its_bytes_whatever_its_letters(world):
    world.accepted(flow=f"{FLOW}\n# {'д' * 400_000}")


def test_an_id_that_is_no_uuid_is_refused(world):
    assert "InvalidRequest: task_id: 'mine' is no UUID" in refused(world.send(options={"task_id": "mine"}))


def test_the_id_of_a_task_that_came_over_the_api_is_refused(world):
    taken = world.fleet.submit()
    assert "did not come from Celery" in refused(world.send(options={"task_id": str(taken)}))


def test_a_refused_task_tells_its_errback_and_the_steps_after_it(world):
    errback = world.signature(name="after a failure")
    errback_id = str(uuid7())
    chain = world.signature(priority=101).on_error(errback.set(task_id=errback_id)) | world.signature()
    last = chain.apply_async()
    assert "kwargs.priority" in refused(last)
    world.wait_for(errback_id)


def test_a_task_that_was_revoked_before_it_came_is_cancelled_at_once(world):
    task_id = uuid4()
    with world.plane.database.transaction() as tx:
        lock_celery_id(tx, task_id)
        keep_revokes(tx, [task_id], actor="celery:bridge", reason="too many")
    sent = world.accepted(options={"task_id": str(task_id)})
    assert events(world, sent) == [
        ("queued", f"celery:{SUBMITTER}"),
        ("cancel_requested", "celery:bridge"),
        ("cancelled", "celery:bridge"),
    ]


def test_a_revoke_that_only_the_worker_heard_counts(world):
    task_id = str(uuid4())
    worker_state.revoked.add(task_id)
    sent = world.accepted(options={"task_id": task_id})
    assert events(world, sent)[1] == ("cancel_requested", "celery:test@here")
    worker_state.revoked.discard(task_id)


def test_a_task_that_came_too_late_is_cancelled_at_once(world):
    sent = world.accepted(options={"expires": datetime.now(UTC) - timedelta(seconds=1)})  # noqa: TID251 - as a client
    assert world.status(sent) == "cancelled"
    assert events(world, sent)[1] == ("cancel_requested", "celery:expires")


def test_a_task_that_has_not_begun_when_it_expires_is_cancelled_and_one_that_runs_is_not(world):
    host = world.host()
    begun = world.accepted(options={"expires": 3600})
    world.running(host)
    waiting = world.accepted(options={"expires": 3600})
    assert cancel_expired_tasks(world.plane) == 0
    with world.plane.database.transaction() as tx:
        tx.run("UPDATE celery_requests SET expires_at = corral_now() - interval '1 second'")
    assert cancel_expired_tasks(world.plane) == 1
    assert (world.status(begun), world.status(waiting)) == ("dispatched", "cancelled")
    assert events(world, waiting)[1:] == [("cancel_requested", "celery:expires"), ("cancelled", "celery:expires")]


def test_nothing_is_stored_for_a_task_whose_result_nobody_wants(world):
    sent = world.send(options={"ignore_result": True})
    world.accepted()
    assert world.status(sent) == "queued"
    assert world.client.AsyncResult(sent.id).state == "PENDING"


def test_a_message_is_put_back_while_postgres_is_away(world, monkeypatch):
    monkeypatch.setattr("control.jobs.front_door.PUT_BACK_AFTER_SECONDS", 0)
    away = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    database = Database.connect(away, pool_size=1, application_name="test")
    door = FrontDoor(
        replace(world.plane, database=database), world.client.conf.broker_url, submitter=SUBMITTER, queue=QUEUE
    )
    message = Context(id=str(uuid4()), task="corral.run", kwargs={"flow": FLOW}, hostname="test@here")
    with pytest.raises(Reject) as put_back:
        door.take_in(message)
    assert put_back.value.requeue
    assert world.client.AsyncResult(message.id).state == "PENDING"
    door.close()
    database.close()


def test_a_message_is_put_back_while_the_database_has_an_older_schema(world, monkeypatch):
    def behind(*_, **__):
        with world.plane.database.statement() as tx:
            tx.run("SELECT * FROM a_table_of_the_next_version")

    monkeypatch.setattr("control.jobs.front_door.PUT_BACK_AFTER_SECONDS", 0)
    monkeypatch.setattr("control.jobs.front_door.accept_message", behind)
    door = FrontDoor(world.plane, world.client.conf.broker_url, submitter=SUBMITTER, queue=QUEUE)
    with pytest.raises(Reject):
        door.take_in(Context(id=str(uuid4()), task="corral.run", kwargs={"flow": FLOW}, hostname="test@here"))
    door.close()


def test_a_task_that_cannot_be_taken_in_for_another_reason_fails(world, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("control.jobs.front_door.accept_message", broken)
    with structlog.testing.capture_logs() as logged:
        words = refused(world.send())
    assert (words, logged[0]["event"]) == (
        "FrontDoorFailed: Corral could not take the task in: ZeroDivisionError",
        "front_door.failed",
    )


def test_another_task_in_the_queue_of_the_front_door_is_answered_too(world):
    assert "NotRegistered: " in refused(world.client.send_task("somebody.elses"))


#: Each of these ended or blocked a worker as Celery makes them.
UNUSABLE = [
    ({"id": {"not": "a text"}}, [[], {}, {}]),
    ({"id": 7}, [[], {"flow": FLOW}, {}]),
    ({"expires": "tomorrow"}, [[], {"flow": FLOW}, {}]),
    ({"timelimit": "long"}, [[], {"flow": FLOW}, {}]),
    ({}, [[], {"flow": FLOW}, ["no callbacks"]]),
    ({}, [[], "no fields", {}]),
    ({}, [[], {"flow": FLOW}]),
    ({}, "no body"),
    ({}, [[], {"flow": FLOW}, {"self": 1, "delivery_info": 7}]),
]


def test_a_message_that_is_none_is_dropped_and_the_next_is_taken_in(world, caplog):
    before = {"task": "corral.run", "id": str(uuid4()), "root_id": None, "parent_id": None}
    with structlog.testing.capture_logs() as logged, world.client.connection_for_write() as connection:
        producer = connection.Producer()
        for headers, body in UNUSABLE:
            producer.publish(body, routing_key=QUEUE, headers={**before, **headers}, serializer="json")
        producer.publish("{", routing_key=QUEUE, headers=before, content_type="application/json")
        world.accepted()
        until(lambda: not connection.default_channel.client.hlen("unacked"))
    words = [line["event"] for line in logged if line["event"] in {"message.dropped", "front_door.refused"}]
    assert len(words) == len(UNUSABLE) + 1
    assert FLOW not in caplog.text + str(logged)


def test_the_front_door_takes_no_queue_of_the_jobs(absent_redis_url):
    with pytest.raises(UnusableQueue, match="cannot have the queue 'jobs'"):
        front_door_app(absent_redis_url, queue="jobs")
