"""What Postgres has counted: bytes of its write-ahead log, rows of leases written, and how many of them in place."""

import time
from dataclasses import dataclass

from tests.bench.stand import Stand

#: A backend that has become idle tells what it has counted after ten seconds at the latest.
FLUSH_LIMIT_SECONDS = 10.5


@dataclass(frozen=True, slots=True)
class Written:
    wal_bytes: int
    full_page_images: int
    updates: int
    hot_updates: int

    def since(self, before: "Written") -> "Written":
        return Written(
            self.wal_bytes - before.wal_bytes,
            self.full_page_images - before.full_page_images,
            self.updates - before.updates,
            self.hot_updates - before.hot_updates,
        )


def written_when_quiet(stand: Stand) -> Written:
    """The counters, once everybody who wrote has told of it."""
    time.sleep(FLUSH_LIMIT_SECONDS)
    return _written(stand)


def written_since(stand: Stand, before: Written, *, updates: int) -> Written:
    """What was written since then, once that many updates have been told of, or nobody tells any more."""
    deadline = time.monotonic() + FLUSH_LIMIT_SECONDS
    while (now := _written(stand).since(before)).updates < updates and time.monotonic() < deadline:
        time.sleep(0.2)
    return now


def _written(stand: Stand) -> Written:
    with stand.connection() as connection:
        row = connection.execute(
            """
            SELECT wal_bytes::bigint, wal_fpi, n_tup_upd, n_tup_hot_upd
            FROM pg_stat_wal, pg_stat_user_tables WHERE relname = 'leases'
            """
        ).fetchone()
    assert row is not None
    return Written(*row)
