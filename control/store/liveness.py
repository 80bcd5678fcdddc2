"""Whether a pooled connection still leads to Postgres, asked where it costs nothing.

A Postgres that ends or is restarted closes its connections, and a closed one has something to be read: its end. So one
that was used a moment ago and has nothing to be read is taken as it is; any other is asked with a statement. All that
are older than a dead one are replaced with it, so a restart costs no request that had not begun.
"""

import select
import time
from typing import Any

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

#: After so long a rest a connection may have been forgotten by something between here and Postgres.
ASKED_AFTER_SECONDS = 5.0

_RESTS_SINCE = "rests_since"


def look_before_use(engine: Engine) -> None:
    """Have the pool of this engine give out no connection that is dead."""

    def rest(_connection: object, record: Any) -> None:
        record.info[_RESTS_SINCE] = time.monotonic()

    def look(connection: Any, record: Any, _proxy: object) -> None:
        rests_since: float | None = record.info.get(_RESTS_SINCE)
        # One that has never rested has just been opened.
        if rests_since is not None and not _is_surely_alive(connection, rests_since):
            _ask(engine, connection)

    event.listen(engine, "checkin", rest)
    event.listen(engine, "checkout", look)


def is_closed(connection: psycopg.Connection[Any]) -> bool:
    """Whether Postgres has closed it, or says something unasked, which it does before it closes one."""
    if connection.closed:
        return True
    unread = select.poll()
    unread.register(connection.fileno(), select.POLLIN)
    return bool(unread.poll(0))


def _is_surely_alive(connection: psycopg.Connection[Any], rests_since: float) -> bool:
    return time.monotonic() - rests_since <= ASKED_AFTER_SECONDS and not is_closed(connection)


def _ask(engine: Engine, connection: psycopg.Connection[Any]) -> None:
    try:
        engine.dialect.do_ping(connection)  # pyright: ignore[reportArgumentType] - SQLAlchemy's own name for the same
    except psycopg.Error as error:
        raise InvalidatePoolError from error
