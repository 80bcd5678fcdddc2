"""What the way to Postgres says of itself."""

import pytest
from sqlalchemy.exc import DBAPIError

from control.store.database import Database


def test_a_statement_that_fails_shows_none_of_its_values(database: Database):
    with database.transaction() as tx, pytest.raises(DBAPIError) as failed:
        tx.rows("SELECT 1 / :zero, CAST(:secret AS text)", zero=0, secret="hunter2")
    assert "division by zero" in str(failed.value)
    assert "hunter2" not in str(failed.value)
