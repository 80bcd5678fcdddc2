"""Runs statements on the driver itself: what SQLAlchemy does around a cursor costs twice what the cursor does.

SQLAlchemy keeps the pool and the transactions, and its rows and errors are what the rest of the room sees.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.rows import tuple_row
from sqlalchemy import Connection, Row, RowMapping, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import result_tuple
from sqlalchemy.exc import DBAPIError

_DIALECT = PGDialect_psycopg()


def fetch_mappings(connection: Connection, sql: str, values: Mapping[str, Any]) -> list[RowMapping]:
    """The rows of a statement whose values are written `:name`."""
    with _driver(connection) as raw:
        return raw.cursor(row_factory=_mappings).execute(_for_driver(sql), values).fetchall()


def fetch_tuples(connection: Connection, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement that is sent as it is, its values written `%(name)s`."""
    with _driver(connection) as raw:
        return raw.cursor(row_factory=tuple_row).execute(sql.encode(), values).fetchall()


def count_rows(connection: Connection, sql: str, values: Mapping[str, Any]) -> int:
    """How many rows a statement touched."""
    with _driver(connection) as raw:
        return raw.cursor().execute(_for_driver(sql), values).rowcount


def driver_of(connection: Connection) -> Any:
    """The driver's own connection."""
    return connection.connection.driver_connection


@contextmanager
def _driver(connection: Connection) -> Generator[psycopg.Connection[Any]]:
    raw = driver_of(connection)
    try:
        yield raw
    except psycopg.Error as error:
        if raw.closed:
            connection.invalidate(error)
        raise _known(connection, error, is_gone=raw.closed) from error


def _known(connection: Connection, error: psycopg.Error, *, is_gone: bool) -> BaseException:
    """The error as SQLAlchemy names it."""
    return DBAPIError.instance(
        statement=None,
        params=None,
        orig=error,
        dbapi_base_err=psycopg.Error,
        hide_parameters=True,
        connection_invalidated=is_gone,
        dialect=connection.dialect,
    )


@lru_cache(maxsize=1000)
def _for_driver(sql: str) -> bytes:
    return str(text(sql).compile(dialect=_DIALECT)).encode()


def _mappings(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], RowMapping]:
    result = cursor.pgresult
    names = [result.fname(column) or b"" for column in range(result.nfields)] if result else []
    row = _row_of(tuple(names))
    return lambda values: row(values)._mapping  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its documented name


@lru_cache(maxsize=1000)
def _row_of(names: tuple[bytes, ...]) -> Callable[[Sequence[Any]], Row[Any]]:
    return result_tuple([name.decode() for name in names])
