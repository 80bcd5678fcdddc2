"""What the way to Postgres says of itself."""

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from control.store.database import Database
from corral.stack.postgres import EmbeddedPostgres


def test_a_statement_that_fails_shows_none_of_its_values(database: Database):
    with database.transaction() as tx, pytest.raises(DBAPIError) as failed:
        tx.rows("SELECT 1 / :zero, CAST(:secret AS text)", zero=0, secret="hunter2")
    assert "division by zero" in str(failed.value)
    assert "hunter2" not in str(failed.value)


def test_texts_are_read_as_utf_8_whatever_the_database_keeps_them_in(postgres: EmbeddedPostgres):
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE sql_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    database = Database.connect(f"{postgres.url('sql_ascii')}?sslmode=prefer", pool_size=1, application_name="test")
    with database.statement() as tx:
        assert tx.value("SELECT :text || ''", text="Grüße") == "Grüße"
    database.close()


def test_no_statement_is_compiled_before_it_runs(database: Database):
    with database.statement() as tx:
        assert tx.value("SHOW jit") == "off"
