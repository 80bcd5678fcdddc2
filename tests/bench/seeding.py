"""Fleets and queues of any size in seconds: one of a kind is made by the operations, then copied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from control.operations.keys import host_credential
from corral.contract.host_protocol import Assignment
from tests.bench.copying import Connection, copy_rows
from tests.bench.stand import Stand
from tests.control.fleet import Fleet, Host

Requires = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class SeededHost:
    """A host that is online for a day without a heartbeat."""

    host_id: UUID
    credential: str
    incarnation: UUID
    serials: Sequence[str]
    #: One for each device, where they are busy.
    lease_ids: Sequence[UUID] = ()
    task_ids: Sequence[UUID] = ()


def seed_hosts(
    stand: Stand, count: int, *, devices: int, busy: bool, labels: Mapping[str, str] | None = None, lease: str = "1 day"
) -> list[SeededHost]:
    """Hosts with as many devices each; `busy` ones run a task on each of them, under a lease that lasts for `lease`."""
    plane = stand.open_plane()
    fleet = Fleet(plane)
    name = f"model-{uuid4()}"
    model = fleet.host("D0", name=name)
    model.beat(labels=dict(labels or {}))
    # The one that is copied takes no other task than its own: not one of a queue that is there already.
    assignment = fleet.running(model, priority=100, requires=[{"label": "host", "value": name}]) if busy else None
    with stand.connection() as connection:
        connection.execute("UPDATE hosts SET is_online = false WHERE host_id = %s", [model.host_id])
        credentials = _make_ids(connection, count, devices)
        _copy_host(connection, model)
        if assignment is not None:
            _copy_task(connection, assignment, lease=lease)
            model.report(assignment, "done")
        hosts = _seeded(connection, credentials, model, busy=busy)
        connection.execute("DROP TABLE seeded, seeded_hosts")
        connection.execute("VACUUM ANALYZE")
    plane.database.close()
    return hosts


def seed_queue(stand: Stand, count: int, *, requires: Requires) -> None:
    """Queued tasks with these conditions."""
    plane = stand.open_plane()
    task_id = Fleet(plane).submit(requires=list(requires))
    source, ids = f"generate_series(2, {count})", {"task_id": "uuidv7()"}
    with stand.connection() as connection:
        copy_rows(connection, "scheduled_tasks", ids, source=source, key="task_id", of=task_id)
        connection.execute("VACUUM ANALYZE scheduled_tasks")
    plane.database.close()


def put_online(stand: Stand, pool: str, *, is_online: bool) -> None:
    """Let the seeded hosts with this label `pool` be there, or not."""
    with stand.connection() as connection:
        connection.execute(
            "UPDATE hosts SET is_online = %s WHERE labels ->> 'pool' = %s AND name LIKE 'bench-%%'", [is_online, pool]
        )


def _make_ids(connection: Connection, count: int, devices: int) -> dict[UUID, str]:
    """The ids of all that is going to be, in two tables of this connection; answers the hosts' credentials."""
    connection.execute("CREATE TEMP TABLE seeded_hosts (host_id uuid, credential_hash bytea)")
    credentials: dict[UUID, str] = {}
    with connection.cursor().copy("COPY seeded_hosts FROM STDIN") as copy:
        for host_id in (uuid4() for _ in range(count)):
            credentials[host_id], credential_hash = host_credential(host_id)
            copy.write_row((host_id, credential_hash))
    connection.execute(
        """
        CREATE TEMP TABLE seeded AS
        SELECT host_id, 'D' || number AS serial, uuidv7() AS device_id, uuidv7() AS task_id, uuidv7() AS lease_id,
               uuidv7() AS claim_id
        FROM seeded_hosts, LATERAL (SELECT generate_series(1, %s::integer) AS number) AS devices
        """,
        [devices],
    )
    return credentials


def _copy_host(connection: Connection, model: Host) -> None:
    own = _columns("seeded_hosts", "host_id", "credential_hash")
    made_up = {"name": "'bench-' || seeded_hosts.host_id", "is_online": "true"}
    made_up["last_seen_at"] = "corral_now() + interval '1 day'"
    copy_rows(connection, "hosts", own | made_up, source="seeded_hosts", key="host_id", of=model.host_id)
    device = _columns("seeded", "device_id", "host_id", "serial")
    copy_rows(connection, "devices", device, source="seeded", key="host_id", of=model.host_id)


def _copy_task(connection: Connection, assignment: Assignment, *, lease: str) -> None:
    ids = _columns("seeded", "task_id", "host_id", "device_id", "lease_id", "claim_id")
    expiry = {"expires_at": f"corral_now() + interval '{lease}'"}
    for table, more in {"scheduled_tasks": {}, "task_attempts": {}, "leases": expiry}.items():
        copy_rows(connection, table, ids | more, source="seeded", key="task_id", of=assignment.task_id)


def _columns(table: str, *names: str) -> dict[str, str]:
    return {name: f"{table}.{name}" for name in names}


def _seeded(connection: Connection, credentials: Mapping[UUID, str], model: Host, *, busy: bool) -> list[SeededHost]:
    rows = connection.execute(
        """
        SELECT host_id, array_agg(serial ORDER BY serial), array_agg(lease_id ORDER BY serial),
               array_agg(task_id ORDER BY serial) FROM seeded GROUP BY host_id
        """
    ).fetchall()
    return [
        SeededHost(host_id, credentials[host_id], model.incarnation, serials, *([leases, tasks] if busy else []))
        for host_id, serials, leases, tasks in rows
    ]
