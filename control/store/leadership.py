"""A lock that a process holds for as long as its connection to Postgres lives, and no longer."""

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from control.store.database import Transaction, psycopg_url
from control.store.job_runs import Lock

#: Postgres ends a session that it has not heard of for so long, and with it the lock: one that is cut off, and one
#: whose process is frozen, for which the kernel still answers. Asked for by the session itself, for the server's own
#: settings may be those of the kernel: two hours.
CUT_OFF_SECONDS = 13
_SERVER_OPTIONS = (
    "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3"
    f" -c tcp_user_timeout={CUT_OFF_SECONDS * 1000} -c idle_session_timeout={CUT_OFF_SECONDS * 1000}"
)
#: An answer that takes longer is none.
ANSWER_LIMIT_MS = 8_000


class SessionLock:
    """An advisory lock on a connection of its own, which must lead to Postgres itself: no pooler of transactions.

    For one thread. Nothing is connected before the first call.
    """

    def __init__(self, database_url: str, lock: Lock, *, application_name: str) -> None:
        self._lock = lock
        self._connection: Connection | None = None
        self._engine = create_engine(
            psycopg_url(database_url),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args={
                "application_name": application_name,
                "connect_timeout": 5,
                "keepalives_idle": 4,
                "keepalives_interval": 2,
                "keepalives_count": 2,
                "tcp_user_timeout": ANSWER_LIMIT_MS,
                "options": _SERVER_OPTIONS,
            },
        )

    def take(self) -> int | None:
        """Take the lock, or make sure that it is held: the number of the session that holds it; None if others do.

        Another number than before: the lock was lost in between, and somebody else may have held it.

        Raises:
            DBAPIError: Postgres does not answer. The lock is not held any more, as far as this side can tell.
        """
        try:
            self._connection = self._connection or self._engine.connect()
            # A session may take its lock again and again, and gives all of them back with its end.
            row = Transaction(self._connection).row(
                "SELECT pg_try_advisory_lock(:lock) AS is_held, pg_backend_pid() AS session", lock=int(self._lock)
            )
        except DBAPIError:
            self.close()
            raise
        return row["session"] if row and row["is_held"] else None

    def close(self) -> None:
        """End the session, and with it the lock."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            # Without a word to a server that may not answer.
            connection.invalidate()
            connection.close()
