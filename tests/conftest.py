"""What many tests share: one Postgres and one Valkey per test process, and a fresh database for each test that asks."""

import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest

from control.store.schema import migrate
from corral.collector import collect_seldom
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.scheduling import ByFile, in_order

#: Tests trade durability for speed; nothing here survives the process anyway.
FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
TEMPLATE = "corral_template"

#: In the order of their references; for a few rows this is quicker than a fresh database.
EMPTY = """
    WITH a AS (DELETE FROM artifacts), j AS (DELETE FROM celery_requests), k AS (DELETE FROM celery_revokes),
    b AS (DELETE FROM idempotency_keys), c AS (DELETE FROM task_events),
    d AS (DELETE FROM leases), e AS (DELETE FROM task_attempts), f AS (DELETE FROM scheduled_tasks),
    g AS (DELETE FROM devices), h AS (DELETE FROM hosts), i AS (DELETE FROM job_runs) DELETE FROM api_keys
"""

_numbers = itertools.count(1)

# Until all is imported and collected: those are millions of objects, and hardly a cycle.
gc.disable()
collect_seldom()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_order(items)


def pytest_collection_finish() -> None:
    # What is imported now stays. Looking through it for cycles again and again takes a fifth of what tests cost.
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A running Postgres with a migrated template database."""
    # Not below pytest's own folder: that is private to us, and Postgres may have to run as somebody else.
    with TemporaryDirectory(prefix="corral-postgres-") as folder:
        server = EmbeddedPostgres(Path(folder), options=FAST)
        server.start()
        server.ensure_database(TEMPLATE)
        migrate(server.url(TEMPLATE))
        yield server
        server.stop()


@pytest.fixture
def database_url(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The address of a database of this test's own, cloned from the template."""
    with cloned_database(postgres) as url:
        yield url


@contextmanager
def cloned_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database that is there while the block runs."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
        yield postgres.url(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server
    server.stop()
