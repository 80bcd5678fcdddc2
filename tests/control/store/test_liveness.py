"""Connections that died while they rested."""

from collections.abc import Iterator

import psycopg
import pytest

from control.store import liveness
from control.store.database import Database


@pytest.fixture
def pooled(database_url: str) -> Iterator[Database]:
    database = Database.connect(database_url, pool_size=3, application_name="test liveness")
    yield database
    database.close()


def backend(database: Database) -> int:
    with database.statement() as tx:
        return tx.value("SELECT pg_backend_pid()")


def end_all(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'test liveness'"
        ).fetchall()
        assert ended
        assert all(gone for (gone,) in ended)


def test_connections_that_postgres_closed_are_replaced_and_no_request_fails(pooled: Database, database_url: str):
    with pooled.transaction() as one, pooled.statement() as two, pooled.snapshot() as three:
        before = {tx.value("SELECT pg_backend_pid()") for tx in (one, two, three)}
    end_all(database_url)
    with pooled.transaction() as one, pooled.statement() as two, pooled.snapshot() as three:
        after = {tx.value("SELECT pg_backend_pid()") for tx in (one, two, three)}
    assert not before & after
    assert len(after) == 3


def test_a_connection_that_rested_for_long_is_asked_and_a_living_one_kept(
    pooled: Database, monkeypatch: pytest.MonkeyPatch
):
    before = backend(pooled)
    monkeypatch.setattr(liveness, "ASKED_AFTER_SECONDS", 0.0)
    assert backend(pooled) == before


def test_a_connection_that_is_kept_between_statements_is_replaced_when_postgres_has_closed_it(database_url: str):
    database = Database.connect(database_url, pool_size=1, application_name="test liveness", is_for_one_thread=True)
    before = backend(database)
    assert backend(database) == before
    end_all(database_url)
    after = backend(database)
    assert after != before
    assert backend(database) == after
    database.close()


def test_a_statement_may_hold_a_percent_sign_and_a_cast(pooled: Database):
    with pooled.statement() as tx:
        assert tx.value("SELECT 'a%b' LIKE 'a%' AND :word = 'x%(y)s'", word="x%(y)s")
        assert tx.value("SELECT '50%'") == "50%"
