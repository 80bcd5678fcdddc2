"""Makes the plane of an API process from its settings."""

from control.api.edge import CLAIM_THREADS
from control.app.settings import Settings
from control.jobs.plane import open_plane
from control.operations.plane import Plane

#: For what a process does unasked: its sign of life, and sweeps that nobody else runs.
KEEPER_CONNECTIONS = 2


def api_plane(settings: Settings) -> Plane:
    """The plane of this process. Call it where the work is done: connections must not cross a fork."""
    return open_plane(
        database_url=settings.database_url.get_secret_value(),
        redis_url=settings.redis_url.get_secret_value(),
        artifacts_folder=settings.artifacts_dir,
        timing=settings.timing,
        pool_size=settings.pool_size + CLAIM_THREADS + KEEPER_CONNECTIONS,
        application_name="corral api",
    )
