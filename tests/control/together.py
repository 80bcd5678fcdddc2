"""Two things at the same moment, or one while another is held."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from control.domain.errors import Refusal
from control.store.database import Database


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Run all of them at the same moment; a refusal is an answer too."""
    gate = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return action()
        except Refusal as refusal:
            return refusal

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def until_somebody_waits(database: Database, *, how_many: int = 1) -> None:
    """Return when so many statements of other connections wait for a lock."""
    deadline = time.monotonic() + 10
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while True:
        with database.transaction() as tx:
            if tx.value(waiting) >= how_many:
                return
        assert time.monotonic() < deadline, "nobody waits for a lock"
        threading.Event().wait(0.01)
