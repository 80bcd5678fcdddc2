"""What a client of Celery can do to device tasks, and be told of hosts, over Celery's mailbox alone."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from celery import Celery
from celery.result import AsyncResult, GroupResult

from control.operations.fleet_workers import QUEUE_WORKER, REAPER_WORKER
from control.store.database import Database
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet
from tests.control.flower.listening import client, eventually, listen, redis_url

__all__ = ["client", "listen", "redis_url"]


def requested_by(fleet: Fleet, task_id: UUID) -> str | None:
    receipt = fleet.show(task_id).cancellation
    return receipt.requested_by if receipt else None


def is_cancelled(fleet: Fleet, task_id: UUID) -> bool:
    return fleet.show(task_id).status is TaskStatus.CANCELLED


def test_one_id_a_list_a_result_and_a_group_are_revoked(fleet: Fleet, client: Celery, listen, redis_url: str) -> None:
    listen()
    # Results over Redis outlive their test, and talk to it when they are collected.
    waiting = Celery("waiting", broker=redis_url, backend="cache+memory://", set_as_current=False)
    tasks = [fleet.submit() for _ in range(6)]
    one, two, three, four, five, six = (str(task_id) for task_id in tasks)
    client.control.revoke(one)
    client.control.revoke([two, "no-uuid", str(uuid4())], terminate=True, signal="SIGKILL")
    client.control.terminate(three)
    results = [AsyncResult(task_id, app=waiting) for task_id in (four, five, six)]
    results[0].revoke()
    GroupResult("group", results[1:], app=waiting).revoke()
    eventually(lambda: all(is_cancelled(fleet, task_id) for task_id in tasks))
    assert {requested_by(fleet, task_id) for task_id in tasks} == {"celery:bridge"}
    reasons = [fleet.show(task_id).cancellation.reason for task_id in tasks]  # type: ignore[union-attr]
    assert reasons == ["revoked in Celery", *["terminated in Celery"] * 2, *["revoked in Celery"] * 3]
    states = {client.backend.get_state(str(task_id)) for task_id in tasks}
    assert states == {"PENDING"}, "results of device tasks are written elsewhere"
    waiting.close()


def test_a_running_tasks_host_is_told_and_whoever_asked_gets_a_reply(fleet: Fleet, client: Celery, listen) -> None:
    listen(is_leader=lambda: False)
    host = fleet.host()
    assignment = fleet.running(host)
    replies = client.control.revoke(str(assignment.task_id), terminate=True, reply=True, limit=1, timeout=5)
    said = "device tasks: 1 cancelled, 0 cancelled or ended before, 0 kept for when they come; 0 are none"
    assert replies == [{"bridge@test": {"ok": said}}]
    assert host.renew(assignment) is True


@pytest.mark.parametrize(
    ("destination", "is_heard"),
    [(["bench"], True), ([QUEUE_WORKER], True), (["bridge@test", "x"], True), (["jobs@elsewhere"], False)],
)
def test_a_revoke_for_some_workers_counts_where_one_of_ours_is_among_them(
    fleet: Fleet, client: Celery, listen, destination: list[str], *, is_heard: bool
) -> None:
    listen()
    fleet.host(name="bench")
    first, second, last = fleet.submit(), fleet.submit(), fleet.submit()
    client.control.revoke(str(first), destination=destination)
    # Nobody waits for this expression to be matched.
    client.control.revoke(str(second), pattern="(x+x+)+y", matcher="pcre")
    client.control.revoke(str(last), pattern="ben*", matcher="glob")
    eventually(lambda: is_cancelled(fleet, last))
    assert is_cancelled(fleet, second)
    assert is_cancelled(fleet, first) is is_heard


def test_a_stranger_is_kept_where_the_front_door_is_open(client: Celery, listen, database: Database) -> None:
    listen(keeps_unknown=True)
    stranger = uuid4()
    client.control.revoke(str(stranger))

    def kept() -> list[UUID]:
        with database.transaction() as tx:
            return [row["task_id"] for row in tx.rows("SELECT task_id FROM celery_revokes")]

    eventually(lambda: kept() == [stranger])


def test_every_question_is_answered_for_every_host_in_one_reply(fleet: Fleet, client: Celery, listen) -> None:
    listen()
    host = fleet.host("PHONE1", name="bench")
    running = fleet.running(host, name="smoke", labels={"team": "red"})
    waiting = fleet.submit(kind="goal", flow=None, goal="open the settings")
    fleet.cancel(running.task_id)
    ask = client.control.inspect(timeout=5, limit=1)
    everybody = {"bench", QUEUE_WORKER, REAPER_WORKER}
    answers = {name: getattr(ask, name)() for name in ("ping", "stats", "scheduled", "registered", "active_queues")}
    assert {name: set(answer) for name, answer in answers.items()} == dict.fromkeys(answers, everybody)
    assert answers["ping"]["bench"] == {"ok": "pong"}
    stats = answers["stats"]["bench"]
    assert stats["broker"]["transport"] == "redis"
    assert (set(stats["total"]), stats["pool"]["processes"]) == ({"device tasks"}, ["PHONE1"])
    (active,) = ask.active(safe=True)["bench"]
    assert (active["id"], active["name"], active["hostname"]) == (str(running.task_id), "corral.flow", "bench")
    assert active["kwargs"] == {
        "name": "smoke",
        "kind": "flow",
        "labels": {"team": "red"},
        "created_by": "key:tests",
        "serial": "PHONE1",
    }
    assert [task["id"] for task in ask.reserved()[QUEUE_WORKER]] == [str(waiting)]
    assert ask.revoked()["bench"] == [str(running.task_id)]
    assert ask.conf()["bench"]["corral_host_id"] == str(host.host_id)


def test_a_question_to_one_worker_is_answered_for_it_alone(fleet: Fleet, client: Celery, listen) -> None:
    listen()
    fleet.host(name="bench")
    assert set(client.control.inspect(["bench"], timeout=5).stats() or {}) == {"bench"}
    assert set(client.control.inspect(pattern="b*h", matcher="glob", timeout=5, limit=1).ping() or {}) == {"bench"}


def test_what_is_not_for_hosts_gets_no_answer_and_bad_words_are_skipped(client: Celery, listen, redis_url: str) -> None:
    heard: list[str] = []
    listen(on_flower=lambda: heard.append("flower"))
    with client.connection_for_write() as connection:
        producer, exchange = connection.Producer(), client.control.mailbox.exchange
        bodies: list[Any] = ["nonsense", {}, {"method": 3}, {"method": "revoke", "arguments": ["x"]}]
        bodies += [{"method": "revoke", "arguments": {"task_id": {"a": 1}}, "destination": "all"}]
        bodies += [{"method": "revoke", "arguments": {"task_id": str(uuid4())}, "pattern": "(", "matcher": "pcre"}]
        for body in bodies:
            producer.publish(body, exchange=exchange, declare=[exchange], serializer="json")
        producer.publish(b"\xff{", exchange=exchange, content_type="application/json", content_encoding="utf-8")
        producer.publish(b"cos\n", exchange=exchange, content_type="application/x-python-serialize")
        assert connection
    assert client.control.inspect(timeout=0.2).hello("somebody") is None
    client.control.broadcast("heartbeat")
    client.control.broadcast("heartbeat", destination=["jobs@elsewhere"])
    assert client.control.ping(timeout=5, limit=1)
    # Once when it began to listen, for who asked before.
    assert heard == ["flower", "flower"]


def test_only_the_leader_answers_questions(client: Celery, listen) -> None:
    leads: list[bool] = []
    listen(is_leader=lambda: bool(leads))
    assert client.control.ping(timeout=0.2) == []
    leads.append(True)
    assert len(client.control.ping(timeout=5, limit=1)) == 1
