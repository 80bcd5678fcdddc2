"""The file in which a worker keeps the ids that it remembers as revoked, from one start to the next."""

import atexit
import shelve
from pathlib import Path
from typing import Any


class StateFileUnusable(Exception):
    """The state file cannot be opened. Name another, or delete it: a bridge may then miss a revoke that was in it."""


def check_state_file(path: Path) -> None:
    """Raises StateFileUnusable where a worker could not start with it."""
    try:
        shelve.open(str(path)).close()  # noqa: S301 - nobody but this program should be able to write it
    except Exception as trouble:
        # Each kind of database that Python may have chosen has errors of its own.
        raise StateFileUnusable(f"{path} is no usable state file, {type(trouble).__name__}: {trouble}") from trouble


def close_state_file(worker: Any) -> None:
    """Save what a worker that has ended remembers, so that another one of this process can open the file."""
    persistence = worker._persistence  # noqa: SLF001 - Celery itself closes it at the end of the process alone
    if persistence is not None:
        atexit.unregister(persistence.save)
        persistence.save()
