"""The listener through outages of Redis and Postgres, over connections that die unnoticed, and for a large fleet."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from celery import Celery
from structlog.testing import capture_logs

from control.flower.inspections import ANSWERS
from control.flower.listener import PidboxListener
from control.flower.reconciliation import ASKS
from control.operations.plane import Plane
from control.store.database import Database
from corral.contract.task_status import TaskStatus
from corral.stack.ports import free_port
from tests.control.fleet import Fleet
from tests.control.flower.listening import client, eventually, listen, listening, redis_url
from tests.control.flower.wire import wire_to
from tests.control.renewals.faults import freeze, own_valkey, thaw

__all__ = ["client", "listen", "redis_url"]

Listen = Callable[..., PidboxListener]


def is_cancelled(fleet: Fleet, task_id: UUID) -> bool:
    return fleet.show(task_id).status is TaskStatus.CANCELLED


def test_a_revoke_that_was_heard_while_postgres_was_away_is_done_when_it_is_back(
    fleet: Fleet, client: Celery, redis_url: str
) -> None:
    tasks = [fleet.submit() for _ in range(3)]
    nowhere = Database.connect(
        f"postgresql://nobody@127.0.0.1:{free_port()}/none", pool_size=1, application_name="test"
    )
    database: Any = SwitchedDatabase(nowhere)
    with listening(redis_url, replace(fleet.plane, database=database)):
        (reply,) = client.control.revoke(str(tasks[0]), reply=True, limit=1, timeout=10)
        said = "the database does not answer: device tasks are cancelled as soon as it does"
        assert reply == {"bridge@test": {"ok": said}}
        client.control.revoke(str(tasks[1]), destination=["queue@control"])
        client.control.revoke(str(tasks[2]), destination=["jobs@elsewhere"])
        assert client.control.ping(timeout=0.2) == []
        database.current = fleet.plane.database
        eventually(lambda: all(is_cancelled(fleet, task_id) for task_id in tasks[:2]))
    assert not is_cancelled(fleet, tasks[2])
    nowhere.close()


class SwitchedDatabase:
    """A database that is another one from some moment on."""

    def __init__(self, first: Database) -> None:
        self.current = first

    def __getattr__(self, name: str) -> object:
        return getattr(self.current, name)


def test_three_hundred_hosts_are_answered_for_in_one_reply_in_no_time(
    fleet: Fleet, client: Celery, listen: Listen, database: Database
) -> None:
    fleet.host(name="bench")
    with database.transaction() as tx:
        tx.run(
            """
            INSERT INTO hosts (host_id, name, credential_hash, labels, facts, supported_commands, retired_incarnations,
                               is_online, is_drain_requested, is_draining, registered_at, last_seen_at)
            SELECT gen_random_uuid(), 'bench-' || number, sha256(CAST('bench-' || number AS bytea)), labels, facts,
                   supported_commands, retired_incarnations, true, false, false, registered_at, last_seen_at
            FROM hosts, generate_series(1, 299) AS number
            """
        )
    listen()
    began_at = time.monotonic()
    answers = client.control.inspect(timeout=10, limit=1).stats()
    took_seconds = time.monotonic() - began_at
    assert len([name for name in answers or {} if name.startswith("bench")]) == 300
    assert took_seconds < 2, "some thirty milliseconds on a machine that has nothing else to do"


def test_a_mistake_of_ours_is_logged_with_where_it_is_and_what_comes_next_is_heard(
    fleet: Fleet, client: Celery, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = fleet.submit()
    monkeypatch.setitem(cast("dict[str, Any]", ANSWERS), "ping", lambda _: 1 / 0)
    with capture_logs() as logs:
        listener = listen()
        client.control.ping(timeout=0.1)
        eventually(lambda: any(line["event"] == "pidbox.disconnected" for line in logs))
        heard_before = listener.heard_at
        eventually(lambda: listener.heard_at > heard_before)
        client.control.revoke(str(task_id))
        eventually(lambda: is_cancelled(fleet, task_id))
    (line,) = (line for line in logs if line["event"] == "pidbox.disconnected")
    assert isinstance(line["exc_info"], ZeroDivisionError)


def test_a_bridge_keeps_its_answers_from_reconciliation(client: Celery, listen: Listen) -> None:
    listen()
    assert client.control.broadcast("revoked", arguments=ASKS, reply=True, timeout=0.2) == []


@contextmanager
def somebody(url: str) -> Iterator[Celery]:
    app = Celery("somebody", broker=url, set_as_current=False)
    yield app
    app.close()


def test_revokes_are_heard_again_after_redis_hung_and_was_restarted(fleet: Fleet, plane: Plane, tmp_path: Path) -> None:
    with own_valkey(tmp_path) as valkey, listening(valkey.url, plane, canary_seconds=0.2) as listener:
        freeze(valkey)
        eventually(lambda: time.monotonic() > listener.heard_at + 1.2)
        thaw(valkey)
        thawed_at = time.monotonic()
        eventually(lambda: listener.heard_at > thawed_at)
        valkey.stop()
        valkey.start()
        back_at = time.monotonic()
        eventually(lambda: listener.heard_at > back_at)
        task_id = fleet.submit()
        with somebody(valkey.url) as client:
            client.control.revoke(str(task_id))
            eventually(lambda: is_cancelled(fleet, task_id))


def test_a_connection_that_died_unnoticed_is_found_by_the_words_to_oneself(
    fleet: Fleet, plane: Plane, redis_url: str, client: Celery
) -> None:
    with wire_to(redis_url) as wire, listening(wire.url, plane, canary_seconds=0.2) as listener:
        wire.cut_subscriptions()
        cut_at = time.monotonic()
        eventually(lambda: listener.heard_at > cut_at + 0.2)
        task_id = fleet.submit()
        client.control.revoke(str(task_id))
        eventually(lambda: is_cancelled(fleet, task_id))
