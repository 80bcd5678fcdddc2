"""Opens a plane over real servers: Postgres, Redis and a folder. For workers and for the API alike."""

from pathlib import Path

from control.artifacts import ArtifactFolder
from control.jobs.doorbell import CeleryDoorbell
from control.operations.plane import Plane, Timing
from control.signals.wakeups import RedisWakeups
from control.store.database import Database


def open_plane(
    *,
    database_url: str,
    redis_url: str,
    artifacts_folder: Path,
    timing: Timing,
    pool_size: int,
    application_name: str,
) -> Plane:
    """A plane for this process; nothing is connected yet.

    Call it after the last fork. Its owner ends it with `plane.database.close()`; what talks to Redis needs no end.

    Raises:
        ValueError: an address that cannot be one.
    """
    return Plane(
        database=Database.connect(database_url, pool_size=pool_size, application_name=application_name),
        doorbell=CeleryDoorbell(redis_url),
        wakeups=RedisWakeups(redis_url, lease_seconds=timing.lease_seconds),
        artifacts=ArtifactFolder(artifacts_folder),
        timing=timing,
    )
