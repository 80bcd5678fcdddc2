"""A renewal through its operation, against the bare UPDATE that it cannot do without, taken in turns."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from control.artifacts import ArtifactFolder
from control.operations.plane import Plane
from control.store.database import Database
from control.store.schema import migrate
from corral.stack.postgres import EmbeddedPostgres
from tests.bench.row import Row
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups

DEVICES = 16
ROUNDS = 9
RENEWALS_A_ROUND = 400


def run() -> list[Row]:
    with TemporaryDirectory(prefix="corral-bench-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()
        try:
            server.ensure_database("bench")
            migrate(server.url("bench"))
            database = Database.connect(server.url("bench"), pool_size=4, application_name="bench")
            rows = _measure(database, Path(folder))
            database.close()
        finally:
            server.stop()
    return rows


def _measure(database: Database, folder: Path) -> list[Row]:
    fleet = Fleet(Plane(database, RecordedRings(), RecordedWakeups(), ArtifactFolder(folder / "artifacts")))
    host = fleet.host(*(f"D{number}" for number in range(DEVICES)))
    for _ in range(DEVICES):
        fleet.submit()
    fleet.assign()
    assignments = [assignment for _ in range(DEVICES) if (assignment := host.claim())]

    def by_operation(number: int) -> None:
        host.renew(assignments[number % DEVICES])

    def by_bare_update(number: int) -> None:
        with database.transaction() as tx:
            tx.run(
                "UPDATE leases SET expires_at = corral_now() + interval '30 s' WHERE lease_id = :lease_id",
                lease_id=assignments[number % DEVICES].lease_id,
            )

    floor, operation = [], []
    for _ in range(ROUNDS):
        floor.append(_per_second(by_bare_update))
        operation.append(_per_second(by_operation))
    with database.transaction() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with database.transaction() as tx:
        share = tx.value("SELECT n_tup_hot_upd::float8 / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'leases'")
    best, bare = statistics.median(operation), statistics.median(floor)
    return [
        Row("bare_update", {"per_second": bare}),
        Row("renew_single", {"per_second": best, "floor": "bare_update", "ratio": best / bare, "hot_share": share}),
    ]


def _per_second(action: Callable[[int], None]) -> float:
    begin = time.perf_counter()
    for number in range(RENEWALS_A_ROUND):
        action(number)
    return RENEWALS_A_ROUND / (time.perf_counter() - begin)
