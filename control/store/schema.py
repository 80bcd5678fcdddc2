"""Brings a database to the schema of this code."""

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

import migrations
from control.store.database import psycopg_url
from control.store.revision import head_revision

#: One migration at a time, whoever starts it: the number names this lock in Postgres.
_MIGRATION_LOCK = 7_203_001
_ASK_AGAIN_SECONDS = 0.1


def migrate(database_url: str, *, target: str = "head") -> str:
    """Upgrade (or, for an older `target`, downgrade) the schema; answers the revision it is at afterwards.

    A database that is already at a later revision than this code knows is left as it is: migrations only add, so
    whoever goes back to the version before starts it in the same way as always.
    """
    engine = create_engine(psycopg_url(database_url), poolclass=NullPool)
    with engine.connect() as lock, engine.connect() as connection:
        _take_turn(lock.execution_options(isolation_level="AUTOCOMMIT"))
        revision = _revision(connection)
        if target == "head" and revision is not None and revision > head_revision():
            return revision
        if _is_older(target, than=revision):
            command.downgrade(_config(connection), target)
        else:
            command.upgrade(_config(connection), target)
        connection.commit()
        return _revision(connection) or "base"


def _take_turn(lock: Connection) -> None:
    # Asked for again and again: an index that is built concurrently waits for all statements that began before it, so
    # also for one that waits for this lock, for ever.
    while not lock.execute(text(f"SELECT pg_try_advisory_lock({_MIGRATION_LOCK})")).scalar_one():
        time.sleep(_ASK_AGAIN_SECONDS)


def _revision(connection: Connection) -> str | None:
    revision = MigrationContext.configure(connection).get_current_revision()
    connection.commit()
    return revision


def _is_older(target: str, *, than: str | None) -> bool:
    return than is not None and (target == "base" or (target != "head" and target < than))


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    return config
