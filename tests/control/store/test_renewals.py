"""What makes a renewal cheap."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from control.store.database import Database
from control.store.leases import Renewal, renew_leases

RENEWALS = 1_000
BATCH = 50


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """One of this test's own: it counts what Postgres has counted."""
    database = Database.connect(database_url, pool_size=1, application_name="test")
    yield database
    database.close()


def test_a_thousand_renewals_touch_no_index(database: Database) -> None:
    with database.transaction() as tx:
        host_id: UUID = tx.value("SELECT gen_random_uuid()")
        tx.run(
            """
            WITH task AS (
                INSERT INTO scheduled_tasks (task_id, kind, status, priority, labels, requires, requirement_class,
                    files, env, max_attempts, attempt, created_at, created_by, queued_at)
                SELECT gen_random_uuid(), 'flow', 'dispatched', 0, '{}', '[]', 'any', '{}', '{}', 2, 1, now(), 'x',
                    now() FROM generate_series(1, :renewals) RETURNING task_id
            )
            INSERT INTO leases (lease_id, task_id, attempt, host_id, device_id, incarnation, expires_at)
            SELECT gen_random_uuid(), task_id, 1, :host_id, gen_random_uuid(), gen_random_uuid(), now() FROM task
            """,
            renewals=RENEWALS,
            host_id=host_id,
        )
        lease_ids = [row["lease_id"] for row in tx.rows("SELECT lease_id FROM leases")]
    progress = '{"step": 1, "steps_total": 20, "text": "tapOn Login", "checkpoint": "running"}'
    renewals = [Renewal(str(lease_id), str(host_id), progress) for lease_id in sorted(lease_ids)]
    for first in range(0, RENEWALS, BATCH):
        with database.statement() as tx:
            (row,) = renew_leases(tx, renewals[first : first + BATCH], lease_seconds=30)
            assert row[0] == "renewed"
    with database.transaction() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with database.transaction() as tx:
        counted = tx.row("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'leases'")
    assert counted is not None
    assert (counted["n_tup_upd"], counted["n_tup_hot_upd"]) == (RENEWALS, RENEWALS)
