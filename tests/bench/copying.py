"""Rows by the million: copied from one that the operations made, so that nothing here knows the schema but the ids."""

from collections.abc import Mapping
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from psycopg import sql

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


def copy_rows(
    connection: Connection, table: str, instead: Mapping[str, str], *, source: str, key: str, of: UUID
) -> None:
    """Copy the row whose `key` is `of`, once for each row of `source`, with `instead` in place of some columns."""
    columns = [
        str(name)
        for (name,) in connection.execute(
            """
            SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
                AND attidentity = '' AND attgenerated = ''
            """,
            [table],
        ).fetchall()
    ]
    values = [instead.get(name, f"model.{name}") for name in columns]
    statement = f"""
        INSERT INTO {table} ({", ".join(columns)}) SELECT {", ".join(values)}
        FROM (SELECT * FROM {table} WHERE {key} = '{of}') AS model, {source}
    """  # noqa: S608 - put together from constants of the benchmarks
    connection.execute(sql.SQL(statement))  # pyright: ignore[reportArgumentType] - the same
