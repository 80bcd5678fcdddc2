"""A pass over the queue: which task gets which device, and what that costs."""

from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

import pytest
from sqlalchemy import event

from control.operations import assign
from control.operations.hosts import mark_silent_hosts_offline
from control.operations.reap import reap_expired_leases, release_unclaimed_assignments
from control.store.database import Database
from control.store.queue import first_of_classes, queued_classes
from corral.contract.fleet import DeviceState
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet, Host


@contextmanager
def statements(database: Database) -> Generator[list[str]]:
    """What is sent to Postgres while the block runs."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    engine = database._engine  # pyright: ignore[reportPrivateUsage] - nothing but this test counts
    event.listen(engine, "before_cursor_execute", note)
    yield sent
    event.remove(engine, "before_cursor_execute", note)


def wants(label: str, op: str, value: object = None) -> list[dict[str, object]]:
    return [{"label": label, "op": op, "value": value}]


def host_of(fleet: Fleet, task_id: UUID) -> UUID | None:
    return fleet.show(task_id).host_id


def test_a_pass_sends_as_many_statements_for_one_task_as_for_many_of_many_classes(
    fleet: Fleet, database: Database
) -> None:
    fleet.host("A")
    fleet.submit()
    fleet.assign()
    fleet.submit()
    fleet.host("B")
    with statements(database) as few:
        assert fleet.assign() == 1
    for number in range(12):
        fleet.host(*[f"{number}-{phone}" for phone in range(3)]).beat(labels={"rack": str(number)})
        fleet.submit(requires=wants("rack", "eq", str(number)))
        fleet.submit(requires=wants("nowhere", "eq", str(number)))
    fleet.assign()
    for number in range(12):
        fleet.submit(requires=wants("rack", "eq", str(number)))
    with statements(database) as many:
        assert fleet.assign() == 12
    assert len(many) == len(few)


def test_a_pass_over_an_empty_queue_reads_no_device(fleet: Fleet, database: Database) -> None:
    fleet.host("A")
    with statements(database) as sent:
        assert fleet.assign() == 0
    assert not any("devices" in statement for statement in sent)


def test_the_queue_is_read_by_its_index(fleet: Fleet, database: Database) -> None:
    with database.transaction() as tx:
        tx.run(
            """
            INSERT INTO scheduled_tasks (task_id, kind, status, priority, labels, requires, requirement_class, files,
                env, max_attempts, attempt, created_at, created_by, queued_at)
            SELECT gen_random_uuid(), 'flow', 'queued', 0, '{}', '[]', 'class-' || n % 7, '{}', '{}', 2, 0,
                now(), 'key:tests', now() FROM generate_series(1, 2000) AS n
            """
        )
        tx.run("ANALYZE scheduled_tasks")
        assert queued_classes(tx) == [f"class-{number}" for number in range(7)]
        assert len(first_of_classes(tx, {"class-1": 3, "class-6": 2})) == 5
    with statements(database) as sent, database.transaction() as tx:
        queued_classes(tx)
        first_of_classes(tx, {"class-1": 3})
    with database.transaction() as tx:
        for statement in sent:
            text = statement.replace("%(names)s", "'{class-1}'").replace("%(limits)s", "'{3}'")
            plan = "\n".join(row["QUERY PLAN"] for row in tx.rows(f"EXPLAIN {text}".replace("::", "\\:\\:")))
            assert "ix_scheduled_tasks_queue_order" in plan
            assert "Sort" not in plan
            assert "Seq Scan on scheduled_tasks" not in plan


def test_a_task_leaves_devices_that_others_need_to_them(fleet: Fleet) -> None:
    with_sim, without = fleet.host("A"), fleet.host("B")
    with_sim.beat(labels={"sim": "yes"})
    anywhere = fleet.submit()
    on_sim = fleet.submit(requires=wants("sim", "exists"))
    assert fleet.assign() == 2
    assert (host_of(fleet, anywhere), host_of(fleet, on_sim)) == (without.host_id, with_sim.host_id)


def test_the_oldest_and_most_urgent_of_all_classes_go_first(fleet: Fleet) -> None:
    tasks = [
        (fleet.submit(priority=number % 3, requires=wants("model", "ne", f"Pixel {number % 4 + 90}")), number % 3)
        for number in range(30)
    ]
    fleet.host(*[f"PHONE{number}" for number in range(14)])
    assert fleet.assign() == 14
    first = sorted(tasks, key=lambda one: (-one[1], one[0]))[:14]
    assigned = {task_id for task_id, _ in tasks if fleet.show(task_id).status is TaskStatus.ASSIGNED}
    assert assigned == {task_id for task_id, _ in first}


@pytest.mark.parametrize("op", ["eq", "in"])
def test_a_task_can_name_its_device_or_its_host_among_others_that_are_alike(
    fleet: Fleet, database: Database, op: str
) -> None:
    host, other = fleet.host("A", "B", "C", name="left"), fleet.host("A", "B", name="right")
    on_b = fleet.submit(requires=[*wants("serial", op, ["B"] if op == "in" else "B"), *wants("host", "ne", "right")])
    on_right = [fleet.submit(requires=wants("host", op, ["right"] if op == "in" else "right")) for _ in range(3)]
    anywhere = fleet.submit()
    assert fleet.assign() == 4
    assert [host_of(fleet, task_id) for task_id in on_right] == [other.host_id, other.host_id, None]
    assert host_of(fleet, on_b) == host_of(fleet, anywhere) == host.host_id
    with database.transaction() as tx:
        serial = tx.value("SELECT serial FROM devices WHERE device_id = :id", id=fleet.show(on_b).device_id)
    assert serial == "B"


def test_labels_that_change_count_in_the_next_pass(fleet: Fleet) -> None:
    host = fleet.host("A")
    host.beat(labels={"rack": "1"})
    task_id = fleet.submit(requires=wants("rack", "eq", "2"))
    assert fleet.assign() == 0
    host.beat(labels={"rack": "2"})
    assert fleet.assign() == 1
    assert host_of(fleet, task_id) == host.host_id


def test_more_tasks_than_one_transaction_gives_away_are_given_in_several(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assign, "MAX_BOOKINGS", 2)
    fleet.host(*"ABCDEFG")
    tasks = [fleet.submit(priority=number) for number in range(6)]
    assert fleet.assign() == 6
    assert {fleet.show(task_id).status for task_id in tasks} == {TaskStatus.ASSIGNED}


def free_and_unheld(database: Database) -> tuple[set[UUID], set[UUID]]:
    with database.transaction() as tx:
        free = {row["device_id"] for row in tx.rows("SELECT device_id FROM free_devices")}
        unheld = """
            SELECT device_id FROM devices EXCEPT
            SELECT device_id FROM scheduled_tasks WHERE status IN ('assigned', 'dispatched')
        """
        return free, {row["device_id"] for row in tx.rows(unheld)}


def test_a_device_is_listed_as_free_exactly_while_no_task_holds_it(fleet: Fleet, database: Database) -> None:
    def is_right(host: Host, *, free: int) -> bool:
        listed, unheld = free_and_unheld(database)
        return listed == unheld and len(listed) == free and len(host.serials) == 2

    host = fleet.host("A", "B")
    assert is_right(host, free=2)
    done = fleet.running(host)
    assert is_right(host, free=1)
    host.report(done, "done")
    cancelled = fleet.running(host)
    fleet.cancel(cancelled.task_id)
    assert is_right(host, free=1)
    host.report(cancelled, "cancelled")
    expired = fleet.running(host, max_attempts=1)
    fleet.expire(expired)
    assert reap_expired_leases(fleet.plane) == 1
    assert is_right(host, free=2)
    fleet.submit()
    fleet.submit()
    assert fleet.assign() == 2
    assert is_right(host, free=0)
    with database.transaction() as tx:
        tx.run("UPDATE scheduled_tasks SET assigned_at = corral_now() - interval '5 minutes'")
        tx.run("UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes'")
    assert release_unclaimed_assignments(fleet.plane) + mark_silent_hosts_offline(fleet.plane) > 0
    assert is_right(host, free=2)


def test_a_device_that_is_not_ready_gets_nothing_until_it_is(fleet: Fleet) -> None:
    host = fleet.host("A")
    host.beat(state=DeviceState.UNAUTHORIZED)
    fleet.submit()
    assert fleet.assign() == 0
    host.beat()
    assert fleet.assign() == 1
