"""The schema: made from nothing, equal to the tables, a step back and forth, on each Postgres that is here."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from control.store.database import Database, psycopg_url
from control.store.revision import current_revision, head_revision
from control.store.schema import migrate
from control.store.tables import metadata
from corral.stack.postgres import EmbeddedPostgres
from tests.conftest import FAST
from tests.control.fleet import Fleet

_DEBIAN_POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")


@pytest.fixture(scope="module")
def postgres_15() -> Iterator[EmbeddedPostgres]:
    """The oldest Postgres that is supported, where its binaries are found."""
    binaries = Path(os.environ.get("CORRAL_TEST_POSTGRES_15", _DEBIAN_POSTGRES_15))
    if not (binaries / "initdb").exists():
        pytest.skip(f"no Postgres 15 in {binaries}; CORRAL_TEST_POSTGRES_15 names another folder")
    with TemporaryDirectory(prefix="corral-postgres-15-") as folder:
        server = EmbeddedPostgres(Path(folder), options=FAST, binaries=binaries)
        server.start()
        yield server
        server.stop()


@pytest.fixture(params=["postgres", "postgres_15"])
def empty_url(request: pytest.FixtureRequest) -> str:
    server: EmbeddedPostgres = request.getfixturevalue(request.param)
    name = f"empty_{request.node.name.partition('[')[0]}"
    server.ensure_database(name)
    return server.url(name)


def differences(url: str) -> list[object]:
    with create_engine(psycopg_url(url), poolclass=NullPool).connect() as connection:
        return compare_metadata(MigrationContext.configure(connection), metadata)


def statuses_allowed(url: str) -> str:
    """What Postgres itself says of the check on a task's status."""
    with create_engine(psycopg_url(url), poolclass=NullPool).connect() as connection:
        check = (
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'ck_scheduled_tasks_status_is_known'"
        )
        return connection.execute(text(check)).scalar_one()


def test_an_empty_database_becomes_what_the_tables_say_with_two_at_it(empty_url: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(migrate, [empty_url] * 2)) == [head_revision()] * 2
    assert differences(empty_url) == []
    assert all(f"'{status}'" in statuses_allowed(empty_url) for status in ("queued", "dispatched", "cancelled"))


def test_each_migration_goes_down_and_up_again(empty_url: str) -> None:
    migrate(empty_url)
    assert migrate(empty_url, target="0001") == "0001"
    assert differences(empty_url) != []
    assert migrate(empty_url, target="base") == "base"
    assert migrate(empty_url) == head_revision()
    assert differences(empty_url) == []


def test_a_database_of_a_later_version_is_left_as_it_is(empty_url: str) -> None:
    with create_engine(psycopg_url(empty_url), poolclass=NullPool).begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version AS SELECT '9999' AS version_num"))
    assert migrate(empty_url) == "9999"


def test_tasks_that_were_there_before_cancellation_read_as_never_asked(empty_url: str, plane: object) -> None:
    migrate(empty_url, target="0001")
    with create_engine(psycopg_url(empty_url), poolclass=NullPool).begin() as connection:
        connection.execute(
            text("""
            INSERT INTO scheduled_tasks (task_id, kind, status, priority, labels, requires, requirement_class, files,
                env, max_attempts, attempt, created_at, created_by, queued_at)
            VALUES (gen_random_uuid(), 'flow', 'queued', 0, '{}', '[]', 'any', '{}',
                '{}', 2, 0, now(), 'key:old', now())
            """)
        )
    migrate(empty_url)
    with create_engine(psycopg_url(empty_url), poolclass=NullPool).connect() as connection:
        row = connection.execute(text("SELECT cancel_requested_at, cancel_reason FROM scheduled_tasks")).one()
    assert tuple(row) == (None, None)


def test_devices_that_were_free_before_there_was_a_list_of_them_are_on_it(empty_url: str) -> None:
    migrate(empty_url, target="0004")
    with create_engine(psycopg_url(empty_url), poolclass=NullPool).begin() as connection:
        connection.execute(
            text("""
            WITH host AS (
                INSERT INTO hosts (host_id, name, credential_hash, labels, facts, supported_commands,
                    retired_incarnations, is_online, is_drain_requested, is_draining, registered_at)
                VALUES (gen_random_uuid(), 'rack', '', '{}', '{}', '[]', '[]', true, false, false, now())
                RETURNING host_id
            ), device AS (
                INSERT INTO devices (device_id, host_id, serial, state, labels, facts, last_seen_at)
                SELECT gen_random_uuid(), host_id, serial, 'ready', '{}', '{}', now()
                FROM host, unnest(ARRAY['BUSY', 'DONE', 'IDLE']) AS serial
                RETURNING device_id, host_id, serial
            )
            INSERT INTO scheduled_tasks (task_id, kind, status, priority, labels, requires, requirement_class, files,
                env, max_attempts, attempt, created_at, created_by, queued_at, host_id, device_id)
            SELECT gen_random_uuid(), 'flow', CASE serial WHEN 'BUSY' THEN 'dispatched' ELSE 'done' END, 0, '{}', '[]',
                'any', '{}', '{}', 2, 1, now(), 'key:old', now(), host_id, device_id
            FROM device WHERE serial <> 'IDLE'
            """)
        )
    migrate(empty_url)
    with create_engine(psycopg_url(empty_url), poolclass=NullPool).connect() as connection:
        listed = text("SELECT serial FROM free_devices JOIN devices USING (device_id) ORDER BY serial")
        assert connection.execute(listed).scalars().all() == ["DONE", "IDLE"]


def test_a_database_that_was_never_migrated_has_no_revision(empty_url: str) -> None:
    database = Database.connect(empty_url, pool_size=1, application_name="test")
    assert current_revision(database) is None
    database.close()


def test_the_clock_goes_by_the_offset_that_a_test_sets(fleet: Fleet) -> None:
    with fleet.plane.database.transaction() as tx:
        tx.run("SET LOCAL corral.clock_offset = '3 hours'")
        assert tx.value("SELECT corral_now() - now() = interval '3 hours'")
    with fleet.plane.database.transaction() as tx:
        assert tx.value("SELECT corral_now() = now()")


def test_a_life_of_a_task_on_the_oldest_postgres(postgres_15: EmbeddedPostgres, plane: object, tmp_path: Path) -> None:
    from control.artifacts import ArtifactFolder
    from control.operations.plane import Plane
    from tests.control.fleet import RecordedRings, RecordedWakeups

    postgres_15.ensure_database("life")
    migrate(postgres_15.url("life"))
    database = Database.connect(postgres_15.url("life"), pool_size=4, application_name="test")
    old = Fleet(Plane(database, RecordedRings(), RecordedWakeups(), ArtifactFolder(tmp_path)))
    host = old.host()
    assignment = old.running(host)
    old.cancel(assignment.task_id)
    assert host.renew(assignment, cancel_seen=True)
    host.report(assignment, "cancelled")
    assert old.kinds(assignment.task_id)[-1] == "cancelled"
    host.restart()
    database.close()
