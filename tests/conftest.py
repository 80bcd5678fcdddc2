"""What many tests share: one Postgres and one Valkey per test process, and a fresh database for each test that asks."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from control.store.schema import migrate
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey

#: Tests trade durability for speed; nothing here survives the process anyway.
FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
TEMPLATE = "corral_template"

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A running Postgres with a migrated template database."""
    server = EmbeddedPostgres(_world_readable(tmp_path_factory.mktemp("postgres")) / "server", options=FAST)
    server.start()
    server.ensure_database(TEMPLATE)
    migrate(server.url(TEMPLATE))
    yield server
    server.stop()


@pytest.fixture
def database_url(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The address of a database of this test's own, cloned from the template."""
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


def _world_readable(folder: Path) -> Path:
    # pytest makes its folders private, and Postgres may run as somebody else.
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    return folder
