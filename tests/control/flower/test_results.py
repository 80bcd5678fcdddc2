"""What Celery clients hear of tasks that were taken in, and what follows from them."""

from datetime import timedelta
from uuid import UUID, uuid4

import celery
import pytest
import redis
import structlog
from celery.exceptions import TaskRevokedError

from control.flower.results import BATCH, CHANGES_APART_SECONDS, ResultPublisher
from control.jobs.front_door_app import close_front_door_app, front_door_app
from control.operations.front_door import cancel_expired_tasks
from control.store.celery_requests import ended_requests
from corral.contract.tasks import Progress
from corral.stack.ports import free_port
from corral.stack.valkey import EmbeddedValkey
from tests.control.front_door import (
    CELERY_STORES_AS_IT_DOES,
    QUEUE,
    empty,
    get,
    get_error,
    opened_front_door,
    until,
)

pytestmark = pytest.mark.filterwarnings(CELERY_STORES_AS_IT_DOES)


@pytest.fixture(scope="module")
def opened(shared_database, valkey: EmbeddedValkey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifacts")
    with opened_front_door(shared_database, valkey, number=2, folder=folder) as world:
        yield world


@pytest.fixture
def world(opened):
    empty(opened.plane.database)
    return opened


@pytest.fixture
def broker(opened):
    with redis.Redis.from_url(opened.client.conf.broker_url) as client:
        yield client
        client.delete("own")


def test_a_task_that_is_done_gives_its_result_as_the_api_shows_it(world):
    sent = world.accepted()
    world.run(world.host(), result={"steps": 3, "said": "Grüße"})
    assert get(sent) == {"steps": 3, "said": "Grüße"} == world.fleet.show(UUID(sent.id)).result


def test_a_task_that_failed_raises_with_its_reason(world):
    sent = world.accepted()
    world.run(world.host(), "failed", failure_reason="step 2: no element 'Save'")
    error = get_error(sent)
    assert (type(error).__name__, str(error), sent.state) == (
        "DeviceTaskFailed",
        "step 2: no element 'Save'",
        "FAILURE",
    )


def test_a_task_that_was_cancelled_raises_that_it_was_revoked_and_by_whom(world):
    sent = world.accepted()
    world.fleet.cancel(UUID(sent.id), reason="too late", actor="key:ada")
    world.publish()
    error = get_error(sent)
    assert isinstance(error, TaskRevokedError)
    assert (str(error), sent.state) == ("cancelled by key:ada: too late", "REVOKED")


def test_a_task_that_expired_raises_that_it_was_revoked(world):
    sent = world.accepted(options={"expires": 3600})
    with world.plane.database.transaction() as tx:
        tx.run("UPDATE celery_requests SET expires_at = corral_now()")
    cancel_expired_tasks(world.plane)
    world.publish()
    assert str(get_error(sent)) == "expired"


def test_a_task_that_came_too_late_is_revoked_although_it_was_queued(world):
    sent = world.send(options={"expires": world.client.now() - timedelta(seconds=1)})
    until(world.publish)
    assert str(get_error(sent)) == "expired"


def test_a_running_task_shows_where_it_runs_and_how_far_it_is(world):
    host = world.host()
    sent = world.accepted()
    assignment = world.running(host)
    assert world.publish() == 1
    assert sent.state == "STARTED"
    assert sent.info == {
        "host": "bench",
        "device": host.serials[0],
        "attempt": 1,
        "is_cancelling": False,
        "progress": None,
    }
    host.renew(assignment, progress=Progress(step=2, steps_total=5, text="tap on Save"))
    assert world.publish() == 1
    assert sent.info["progress"] == {"step": 2, "steps_total": 5, "text": "tap on Save"}
    world.fleet.cancel(UUID(sent.id))
    assert world.publish() == 1
    assert sent.info["is_cancelling"] is True
    assert world.publish() == 0


def test_a_task_that_came_back_to_the_queue_is_queued_again(world):
    host = world.host()
    sent = world.accepted()
    assignment = world.running(host)
    world.publish()
    host.report(assignment, "failed", cause="infrastructure", failure_reason="the phone fell off")
    world.publish()
    assert (sent.state, sent.info) == ("QUEUED", {"attempt": 1})
    world.run(host, result={"attempt": "second"})
    assert get(sent) == {"attempt": "second"}


def test_progress_is_looked_for_once_in_a_second(world):
    host = world.host()
    sent = world.accepted()
    world.publish()
    world.running(host)
    world.clock.now += CHANGES_APART_SECONDS / 2
    assert world.publisher.publish() == 0
    world.clock.now += CHANGES_APART_SECONDS / 2
    assert world.publisher.publish() == 1
    assert sent.state == "STARTED"


def test_the_next_step_of_a_chain_runs_after_the_first_and_its_positional_argument_is_ignored(world):
    host = world.host()
    last = celery.chain(world.signature(name="one"), world.signature(name="two"), world.signature(name="three"))()
    for _ in range(3):
        world.run(host, result={"ok": True})
    assert get(last) == {"ok": True}
    assert world.fleet.show(UUID(last.id)).name == "three"
    assert [child.id for child in last.parent.children] == [last.id]


@pytest.mark.parametrize("ending", ["failed", "cancelled"])
def test_a_chain_ends_with_the_step_that_did_not_succeed(world, ending):
    last = celery.chain(world.signature(), world.signature(), world.signature())()
    first = last.parent.parent
    world.wait_for(first.id)
    if ending == "failed":
        world.run(world.host(), "failed", failure_reason="no such button")
    else:
        world.fleet.cancel(UUID(first.id))
        world.publish()
    errors = [get_error(sent) for sent in (first, last.parent, last)]
    assert len({(type(error), str(error)) for error in errors}) == 1
    assert first.state == last.state == ("FAILURE" if ending == "failed" else "REVOKED")


def test_callbacks_get_the_result_in_the_queue_that_they_name_or_the_usual_one(world, broker):
    noted = world.client.signature("own.note", queue="own")
    following = world.signature(name="following").set(task_id=str(uuid4()))
    world.send(options={"link": [noted, following]})
    world.run(world.host(), result={"ok": True})
    assert broker.llen("own") == 1
    world.wait_for(following.id)


def test_an_errback_gets_the_id_of_the_task_that_failed(world, broker):
    sent = world.send(options={"link_error": world.client.signature("own.mourn", queue="own")})
    world.run(world.host(), "failed", failure_reason="no such button")
    assert broker.llen("own") == 1
    with world.client.connection_for_read() as connection:
        message = connection.SimpleQueue("own").get(block=False)
    assert message.payload[0] == [sent.id]


def test_a_group_gives_all_results_in_its_order(world):
    host = world.host()
    sent = celery.group(world.signature(name=name) for name in "abc")()
    for _ in range(3):
        until(world.fleet.assign)
        assignment = host.claim()
        host.report(assignment, "done", result={"name": world.fleet.show(assignment.task_id).name})
    world.publish()
    results = sent.get(timeout=10, disable_sync_subtasks=False)
    assert results == [{"name": "a"}, {"name": "b"}, {"name": "c"}]


def test_the_body_of_a_chord_runs_when_all_of_its_header_has_succeeded(world):
    host = world.host()
    body = celery.chord([world.signature(), world.signature()])(world.signature(name="body"))
    world.run(host)
    assert body.state == "PENDING"
    world.run(host)
    world.run(host, result={"is": "body"})
    assert get(body) == {"is": "body"}


def test_the_body_of_a_chord_fails_where_one_of_its_header_did_not_succeed(world):
    host = world.host()
    body = celery.chord([world.signature(), world.signature()])(world.signature(name="body"))
    world.run(host)
    world.run(host, "failed", failure_reason="no such button")
    error = get_error(body)
    assert (type(error).__name__, str(error), body.state) == ("DeviceTaskFailed", "no such button", "FAILURE")


def test_a_group_within_a_chain_holds_up_the_step_after_it(world):
    host = world.host()
    last = celery.chain(
        world.signature(name="first"),
        celery.group(world.signature(name="left"), world.signature(name="right")),
        world.signature(name="last"),
    )()
    for _ in range(3):
        world.run(host)
    world.run(host, result={"is": "last"})
    assert get(last) == {"is": "last"}


def test_a_chord_with_a_chain_that_ends_in_a_group_gives_all_results_to_its_body(world, broker):
    host = world.host()
    branching = celery.chain(world.signature(), celery.group(world.signature(), world.signature()))
    celery.chord([branching, world.signature()])(world.client.signature("own.sum", queue="own"))
    for _ in range(4):
        world.run(host, result={"ok": True})
    with world.client.connection_for_read() as connection:
        message = connection.SimpleQueue("own").get(block=False)
    assert message.payload[0] == [[[{"ok": True}, {"ok": True}], {"ok": True}]]


def test_what_is_sent_on_is_not_waited_for(world):
    both = celery.group(world.signature(), world.signature())
    world.send(options={"link": both, "link_error": both})
    host = world.host()
    for _ in range(3):
        world.run(host)
    consumer = world.answering.backend.result_consumer
    assert (consumer.subscribed_to, consumer._pubsub) == (set(), None)


def test_who_wants_no_result_gets_none_and_its_callbacks_all_the_same(world, broker):
    sent = world.send(options={"ignore_result": True, "link": world.client.signature("own.note", queue="own")})
    world.run(world.host(), result={"ok": True})
    assert (sent.state, broker.llen("own")) == ("PENDING", 1)


def test_what_was_told_is_not_told_again_by_another_publisher_and_its_message_is_forgotten(world):
    world.accepted(env={"PASSWORD": "tulip"})
    world.run(world.host())
    assert ResultPublisher(world.answering, world.plane).publish() == 0
    with world.plane.database.statement() as tx:
        kept = tx.row("SELECT request, is_settled, published ->> 'state' AS state FROM celery_requests")
    assert dict(kept) == {"request": {}, "is_settled": True, "state": "SUCCESS"}


def test_two_publishers_do_not_tell_of_one_task_at_a_time(world, monkeypatch):
    sent = world.accepted()
    host = world.host()
    host.report(world.running(host), "done", result={"ok": True})
    others: list[int] = []

    def told_meanwhile(*_, **__):
        others.append(ResultPublisher(world.answering, world.plane).publish())

    with monkeypatch.context() as patch:
        patch.setattr("control.flower.results.answers.tell_done", told_meanwhile)
        assert world.publish() == 1
    assert (others, sent.state) == ([0], "QUEUED")


def test_a_publisher_that_dies_before_it_notes_an_end_leaves_it_to_the_next_one(world, broker, monkeypatch):
    sent = world.send(options={"link": world.client.signature("own.note", queue="own")})
    host = world.host()
    host.report(world.running(host), "done", result={"ok": True})
    with monkeypatch.context() as patch:
        patch.setattr("control.store.celery_requests.settle_request", died)
        with pytest.raises(KeyboardInterrupt):
            world.publish()
    assert get(sent) == {"ok": True}
    world.publish()
    assert (get(sent), broker.llen("own")) == ({"ok": True}, 2)


def died(*_, **__):
    raise KeyboardInterrupt


def test_an_end_that_could_not_be_told_is_told_later(world):
    sent = world.accepted()
    host = world.host()
    assignment = world.running(host)
    host.report(assignment, "done", result={"ok": True})
    app = front_door_app(f"redis://127.0.0.1:{free_port()}/0", queue=QUEUE)
    assert ResultPublisher(app, world.plane).publish() == 0
    close_front_door_app(app)
    world.publish()
    assert get(sent) == {"ok": True}


def test_a_callback_that_is_none_holds_up_nobody(world):
    spoilt, sound = world.accepted(), world.accepted()
    with world.plane.database.transaction() as tx:
        tx.run(
            """
            UPDATE celery_requests SET request = request || '{"callbacks": [{"args": 3}]}' WHERE task_id = :id
            """,
            id=UUID(spoilt.id),
        )
    host = world.host()
    with structlog.testing.capture_logs() as logged:
        world.run(host, result={"ok": True})
        world.run(host, result={"ok": True})
    assert [line["event"] for line in logged] == ["results.not_followed"]
    assert get(spoilt) == get(sound) == {"ok": True}


def test_an_end_is_told_at_once_and_one_that_was_missed_at_the_next_look_at_all(world):
    host = world.host()
    sent, missed = world.accepted(), world.accepted()
    world.publish()
    world.publisher._next_look_at = world.clock.now + 1
    world.publisher._next_changes_at = world.clock.now + 1
    for _ in range(2):
        host.report(world.running(host), "done", result={"ok": True})
    with world.plane.database.transaction() as tx:
        tx.run("DELETE FROM task_events WHERE task_id = :missed", missed=UUID(missed.id))
    assert (world.publisher.publish(), sent.state, missed.state) == (1, "SUCCESS", "QUEUED")
    world.clock.now += 1
    assert (world.publisher.publish(), missed.state) == (1, "SUCCESS")


def test_more_than_a_batch_is_told_by_several_calls(world):
    sent = world.accepted()
    with world.plane.database.transaction() as tx:
        tx.run(
            """
            WITH task AS (
                INSERT INTO scheduled_tasks (task_id, kind, status, priority, labels, requires, requirement_class,
                    files, env, max_attempts, attempt, created_at, created_by, queued_at, finished_at, result)
                SELECT gen_random_uuid(), kind, 'done', priority, labels, requires, requirement_class,
                    files, env, 1, 1, created_at, created_by, queued_at, corral_now(), '{}'
                FROM scheduled_tasks, generate_series(1, :many) RETURNING task_id
            )
            INSERT INTO celery_requests (task_id, request, is_settled)
            SELECT task_id, jsonb_build_object('id', task_id), false FROM task
            """,
            many=BATCH + 1,
        )
    assert (world.publish(), world.publisher.publish()) == (BATCH, 1)
    with world.plane.database.statement() as tx:
        assert ended_requests(tx, limit=1) == []
    assert sent.state == "QUEUED"
