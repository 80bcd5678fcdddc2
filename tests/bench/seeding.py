"""Fleets of any size in seconds: one host, device, running task and lease are made by the operations, then copied.

Copies take every column from what they are copied from, so they know nothing of the schema but the ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg

from control.operations.keys import host_credential
from control.operations.plane import Plane
from control.store.database import Database
from tests.bench.stand import Stand
from tests.control.fleet import Fleet


@dataclass(frozen=True, slots=True)
class SeededHost:
    host_id: UUID
    credential: str
    incarnation: UUID
    serials: Sequence[str]
    #: One for each device, where they are busy.
    lease_ids: Sequence[UUID]
    task_ids: Sequence[UUID]


def seed_hosts(
    stand: Stand, count: int, *, devices: int, busy: bool, labels: Mapping[str, str] | None = None, lease: str = "1 day"
) -> list[SeededHost]:
    """Hosts with as many devices each; `busy` ones run a task on each of them, under a lease that lasts for `lease`."""
    plane = stand.open_plane()
    with stand.connection() as connection:
        model = _model_host(plane, connection, labels or {}, busy=busy)
        made = _names(connection, count, devices)
        _copy_all(connection, model, busy=busy, lease=lease)
        ids = _ids(connection) if busy else {}
        connection.execute("DROP TABLE seeded, seeded_hosts")
        connection.execute("VACUUM ANALYZE")
    plane.database.close()
    serials = [f"D{number}" for number in range(1, devices + 1)]
    return [
        SeededHost(host_id, credential, model.incarnation, serials, *ids.get(host_id, ([], [])))
        for host_id, credential in made
    ]


@dataclass(frozen=True, slots=True)
class _Model:
    host_id: UUID
    incarnation: UUID


def _model_host(
    plane: Plane, connection: psycopg.Connection[tuple[object, ...]], labels: Mapping[str, str], *, busy: bool
) -> _Model:
    """One of its kind, as operations make it. It goes offline, so that only the copies are given work."""
    fleet = Fleet(plane)
    host = fleet.host("D0", name=f"model-{uuid4()}")
    host.beat(labels=dict(labels))
    if busy:
        # Nobody else may take it: not the queue that another seeding has left.
        fleet.submit(priority=100, requires=[{"label": "host", "value": _name_of(connection, host.host_id)}])
        fleet.assign()
        assert host.claim() is not None
    connection.execute("UPDATE hosts SET is_online = false WHERE host_id = %s", [host.host_id])
    return _Model(host.host_id, host.incarnation)


def _name_of(connection: psycopg.Connection[tuple[object, ...]], host_id: UUID) -> str:
    row = connection.execute("SELECT name FROM hosts WHERE host_id = %s", [host_id]).fetchone()
    assert row is not None
    return str(row[0])


def _names(connection: psycopg.Connection[tuple[object, ...]], count: int, devices: int) -> list[tuple[UUID, str]]:
    connection.execute("CREATE TEMP TABLE seeded_hosts (host_id uuid, credential_hash bytea)")
    made: list[tuple[UUID, str]] = []
    with connection.cursor().copy("COPY seeded_hosts FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["uuid", "bytea"])
        for host_id in (uuid4() for _ in range(count)):
            credential, credential_hash = host_credential(host_id)
            made.append((host_id, credential))
            copy.write_row((host_id, credential_hash))
    connection.execute(
        """
        CREATE TEMP TABLE seeded AS
        SELECT host_id, format('D%%s', number) AS serial, uuidv7() AS device_id, uuidv7() AS task_id,
               uuidv7() AS lease_id, uuidv7() AS claim_id
        FROM seeded_hosts, generate_series(1, %s) AS number
        """.replace("%s)", f"{devices})").replace("%%s", "%s")
    )
    return made


def _copy_all(connection: psycopg.Connection[tuple[object, ...]], model: _Model, *, busy: bool, lease: str) -> None:
    owned = f"host_id = '{model.host_id}'"
    lives = {"is_online": "true", "last_seen_at": "corral_now() + interval '1 day'"}
    name = {"name": "'bench-' || seeded_hosts.host_id"}
    hosts = {"host_id": "seeded_hosts.host_id", "credential_hash": "seeded_hosts.credential_hash"}
    copy_rows(connection, "hosts", hosts | name | lives, source="seeded_hosts", where=owned)
    own = {name: f"seeded.{name}" for name in ("host_id", "device_id", "task_id", "lease_id", "serial", "claim_id")}

    def belonging(*names: str) -> dict[str, str]:
        return {name: own[name] for name in names}

    copy_rows(connection, "devices", belonging("device_id", "host_id", "serial"), source="seeded", where=owned)
    if busy:
        tasks = belonging("task_id", "host_id", "device_id", "lease_id")
        copy_rows(connection, "scheduled_tasks", tasks, source="seeded", where=owned)
        copy_rows(connection, "task_attempts", tasks | belonging("claim_id"), source="seeded", where=owned)
        expiry = {"expires_at": f"corral_now() + interval '{lease}'"}
        copy_rows(connection, "leases", tasks | expiry, source="seeded", where=owned)
        connection.execute(f"DELETE FROM leases WHERE {owned}")
        connection.execute(f"UPDATE scheduled_tasks SET status = 'done', lease_id = NULL WHERE {owned}")


def _ids(connection: psycopg.Connection[tuple[object, ...]]) -> dict[UUID, tuple[list[UUID], list[UUID]]]:
    rows = connection.execute(
        "SELECT host_id, array_agg(lease_id ORDER BY serial), array_agg(task_id ORDER BY serial) FROM seeded GROUP BY 1"
    )
    return {host_id: (leases, tasks) for host_id, leases, tasks in rows.fetchall()}


def copy_rows(
    connection: psycopg.Connection[tuple[object, ...]],
    table: str,
    instead: Mapping[str, str],
    *,
    source: str,
    where: str,
) -> None:
    """Copy the one row that `where` finds once for each row of `source`, with `instead` in place of some columns."""
    columns = [
        str(name)
        for (name,) in connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " AND attidentity = '' AND attgenerated = ''",
            [table],
        ).fetchall()
    ]
    values = ", ".join(instead.get(name, f"model.{name}") for name in columns)
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM (SELECT * FROM {table} WHERE {where}) AS model, {source}"
    )


def seed_queue(
    stand: Stand, count: int, *, requires: Sequence[Mapping[str, object]], database: Database | None = None
) -> None:
    """Queued tasks with these conditions."""
    plane = stand.open_plane()
    task_id = Fleet(plane).submit(requires=list(requires))
    with stand.connection() as connection:
        copy_rows(
            connection,
            "scheduled_tasks",
            {"task_id": "uuidv7()"},
            source=f"generate_series(2, {count})",
            where=f"task_id = '{task_id}'",
        )
        connection.execute("VACUUM ANALYZE scheduled_tasks")
    plane.database.close()
