"""A plane on a real database, and a small fleet that talks to its operations as hosts do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from control.artifacts import ArtifactFolder
from control.operations.plane import Plane, Timing
from control.store.database import Database
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database.connect(database_url, pool_size=16, application_name="test")
    yield database
    database.close()


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
