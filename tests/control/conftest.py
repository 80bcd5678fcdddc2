"""A plane on a real database, and a small fleet that talks to its operations as hosts do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from control.artifacts import ArtifactFolder
from control.operations.plane import Plane, Timing
from control.store.database import Database
from corral.stack.postgres import EmbeddedPostgres
from tests.conftest import EMPTY, cloned_database
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups


@pytest.fixture(scope="session")
def shared_database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    with cloned_database(postgres) as url:
        database = Database.connect(url, pool_size=16, application_name="test")
        yield database
        database.close()


@pytest.fixture
def database(shared_database: Database) -> Database:
    """A database with nothing in it."""
    with shared_database.transaction() as tx:
        tx.run(EMPTY)
    return shared_database


@pytest.fixture
def plane(database: Database, tmp_path: Path) -> Plane:
    return Plane(
        database=database,
        doorbell=RecordedRings(),
        wakeups=RecordedWakeups(),
        artifacts=ArtifactFolder(tmp_path / "artifacts", max_bytes=100_000),
        timing=Timing(),
    )


@pytest.fixture
def fleet(plane: Plane) -> Fleet:
    return Fleet(plane)
