"""The way to Postgres: an engine made by the entry point, and transactions that one operation opens and ends."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import stamina
from sqlalchemy import Connection, Engine, RowMapping, create_engine
from sqlalchemy.exc import (
    DisconnectionError,
    InterfaceError,
    MultipleResultsFound,
    OperationalError,
    ProgrammingError,
    TimeoutError as PoolTimeoutError,
)

from control.store.driver import count_rows, driver_of, fetch_mappings, fetch_tuples
from control.store.liveness import is_closed, look_before_use

#: A request that waits longer than this for a lock is better told so than left hanging.
LOCK_TIMEOUT_MS = 10_000
#: Postgres did not answer, or not in time: what failed may be tried again as it is.
DATABASE_AWAY = (OperationalError, InterfaceError, DisconnectionError, PoolTimeoutError)
#: Postgres' codes for a table, a column and a function that it does not know.
_NAMES_WHAT_IS_NOT_THERE = frozenset({"42P01", "42703", "42883"})
_RETRYABLE = frozenset({"40P01", "40001"})  # deadlock_detected, serialization_failure


class Transaction:
    """One open transaction, or single statements that are one each.

    What `after_commit` was given happens once all is durable, and never where something failed.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._after_commit: list[Callable[[], None]] = []

    def rows(self, sql: str, /, **parameters: Any) -> Sequence[RowMapping]:
        """All rows of a statement."""
        return fetch_mappings(self._connection, sql, parameters)

    def plain_rows(self, sql: str, /, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        """Tuples, for what runs all the time: the statement goes to the driver as it is, with `%(name)s` for values."""
        return fetch_tuples(self._connection, sql, parameters)

    def row(self, sql: str, /, **parameters: Any) -> RowMapping | None:
        """The only row of a statement, or None where its condition met no row."""
        rows = fetch_mappings(self._connection, sql, parameters)
        if len(rows) > 1:
            raise MultipleResultsFound(f"a statement for one row met {len(rows)}")
        return rows[0] if rows else None

    def value(self, sql: str, /, **parameters: Any) -> Any:
        """The first column of the only row."""
        (row,) = fetch_mappings(self._connection, sql, parameters)
        return next(iter(row.values()))

    def run(self, sql: str, /, **parameters: Any) -> int:
        """Run a statement that returns nothing; answers how many rows it touched."""
        return count_rows(self._connection, sql, parameters)

    def after_commit(self, action: Callable[[], None]) -> None:
        """Have `action` done after the commit. It must bound its own time and swallow its own errors."""
        self._after_commit.append(action)

    def committed(self) -> None:
        """Do what was asked for; called by `Database` alone."""
        for action in self._after_commit:
            action()


class Database:
    """A pool of connections. Make it in the process that uses it: it must not cross a fork."""

    def __init__(self, engine: Engine, *, is_for_one_thread: bool = False) -> None:
        self._engine = engine
        self._is_for_one_thread = is_for_one_thread
        self._kept: Connection | None = None
        self._statements = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._snapshots = engine.execution_options(isolation_level="REPEATABLE READ")

    @classmethod
    def connect(cls, url: str, *, pool_size: int, application_name: str, is_for_one_thread: bool = False) -> "Database":
        """Open a pool; `url` as `postgresql://user:password@host:port/name`.

        `is_for_one_thread` is for a thread that runs a few single statements all the time: their connection is kept
        between them, and their plans too.
        """
        # Compiling a statement takes Postgres seconds, and each of these runs for milliseconds. It would do so for what
        # it reckons to be dear, as every statement that is told to avoid sequential scans.
        options = f"-c lock_timeout={LOCK_TIMEOUT_MS} -c idle_in_transaction_session_timeout=60000 -c jit=off"
        if is_for_one_thread:
            options += " -c plan_cache_mode=force_generic_plan"
        engine = create_engine(
            psycopg_url(url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=LOCK_TIMEOUT_MS / 1000,
            # An error that shows its statement would log what flows type, and hashes of credentials.
            hide_parameters=True,
            connect_args={
                "application_name": application_name,
                "connect_timeout": 5,
                # A half-open connection must not hold a thread for ever.
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 3,
                "tcp_user_timeout": 15_000,
                "options": options,
            },
        )
        look_before_use(engine)
        return cls(engine, is_for_one_thread=is_for_one_thread)

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """One transaction: committed at the end of the block, rolled back when the block raises."""
        with self._engine.begin() as connection:
            transaction = Transaction(connection)
            yield transaction
        transaction.committed()

    @contextmanager
    def statement(self) -> Generator[Transaction]:
        """For single statements, each its own transaction: one trip to Postgres where `transaction` takes three."""
        with self._kept_connection() if self._is_for_one_thread else self._statements.connect() as connection:
            transaction = Transaction(connection)
            yield transaction
        transaction.committed()

    @contextmanager
    def _kept_connection(self) -> Generator[Connection]:
        if self._kept is not None and is_closed(driver_of(self._kept)):
            # The pool sees that it is dead, and has another.
            self._kept.close()
            self._kept = None
        connection = self._kept = self._kept or self._statements.connect()
        try:
            yield connection
        except BaseException:
            # It may be dead. The next statement takes another.
            self._kept = None
            connection.close()
            raise

    @contextmanager
    def snapshot(self) -> Generator[Transaction]:
        """For reading with several statements: all of them see the database as it was at the first."""
        with self._snapshots.begin() as connection:
            yield Transaction(connection)

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._engine.dispose()


def psycopg_url(url: str) -> str:
    """The same address with the driver that Corral uses, and texts as UTF-8 whatever the database keeps them in."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgresql", "postgres"}:
        raise ValueError("a database url looks like postgresql://user:password@host:5432/name")
    address, _, query = rest.partition("?")
    options = [option for option in query.split("&") if option and not option.startswith("client_encoding=")]
    return f"postgresql+psycopg://{address}?{'&'.join([*options, 'client_encoding=utf8'])}"


def is_schema_behind(error: Exception) -> bool:
    """Whether a statement has met another schema than its own: ours are tested, and name nothing that is not there."""
    return isinstance(error, ProgrammingError) and getattr(error.orig, "sqlstate", None) in _NAMES_WHAT_IS_NOT_THERE


def _is_retryable(error: Exception) -> bool:
    return isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", None) in _RETRYABLE


#: For operations over several rows: Postgres ends one of two that wait for each other, and that one runs again.
retried_on_deadlock = stamina.retry(on=_is_retryable, attempts=5, wait_initial=0.01, wait_max=0.2, timeout=10)
