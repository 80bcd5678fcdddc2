"""The stream of all events: in order, complete, and never ahead of a transaction that is still open."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import pytest
from sqlalchemy.exc import DBAPIError

from control.store.database import Database
from control.store.event_feed import (
    FEED_ROWS,
    EventFeed,
    ends_of_tasks,
    last_event_id,
    note_position,
    position_of,
)
from control.store.events import Event, record_events
from corral.contract.history import TaskEventKind
from tests.control.fleet import Fleet
from tests.control.together import until_somebody_waits


def kinds(feed: EventFeed) -> list[tuple[UUID, TaskEventKind]]:
    return [(event.task_id, event.kind) for event in feed.read()]


def test_a_feed_begins_with_what_happens_after_its_first_look(fleet: Fleet):
    fleet.submit()
    feed = EventFeed(fleet.plane.database)
    assert feed.read() == []
    task = fleet.submit()
    assert kinds(feed) == [(task, TaskEventKind.QUEUED)]
    assert feed.read() == []


def test_an_event_of_an_open_transaction_is_waited_for_and_what_came_after_it_comes_after_it(fleet: Fleet):
    first, second = fleet.submit(), fleet.submit()
    feed = EventFeed(fleet.plane.database)
    feed.read()
    with fleet.plane.database.transaction() as tx:
        tx.run(
            "INSERT INTO task_events (task_id, at, kind, attempt, actor, details)"
            " VALUES (:task, now(), 'task.assigned', 0, 'test', '{}')",
            task=first,
        )
        fleet.cancel(second)
        assert feed.read() == []
        assert feed.read() == []
    assert kinds(feed) == [
        (first, TaskEventKind.ASSIGNED),
        (second, TaskEventKind.CANCEL_REQUESTED),
        (second, TaskEventKind.CANCELLED),
    ]


def test_the_youngest_transaction_is_waited_for_too(fleet: Fleet):
    task = fleet.submit()
    feed = EventFeed(fleet.plane.database)
    feed.read()
    with fleet.plane.database.transaction() as tx:
        # It has a number, and none after it has ended yet.
        tx.run("SELECT 1 FROM scheduled_tasks WHERE task_id = :task FOR UPDATE", task=task)
        tx.run(
            "INSERT INTO task_events (task_id, at, kind, attempt, actor, details)"
            " VALUES (:task, now(), 'task.assigned', 0, 'test', '{}')",
            task=task,
        )
        assert feed.read() == []
        assert feed.read() == []
    assert kinds(feed) == [(task, TaskEventKind.ASSIGNED)]


@contextmanager
def each_event_held_up_after_it_has_its_id(database: Database) -> Iterator[None]:
    """Until the block ends, in which whoever writes an event must be waited for."""
    with database.transaction() as tx:
        tx.run(
            "CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$"
        )
        tx.run("CREATE TRIGGER hold_up BEFORE INSERT ON task_events FOR EACH ROW EXECUTE FUNCTION hold_up()")
    try:
        with database.transaction() as tx:
            tx.run("SELECT pg_advisory_xact_lock(1)")
            yield
    finally:
        with database.transaction() as tx:
            tx.run("DROP FUNCTION hold_up CASCADE")


def test_an_event_is_waited_for_by_itself_where_its_transaction_changes_nothing_else(fleet: Fleet):
    task = fleet.submit()
    feed = EventFeed(fleet.plane.database)
    feed.read()

    def write() -> None:
        with fleet.plane.database.statement() as tx:
            record_events(tx, [Event(TaskEventKind.CANCEL_DELIVERED, task, 1)], actor="test")

    with ThreadPoolExecutor(1) as pool:
        with each_event_held_up_after_it_has_its_id(fleet.plane.database):
            writing = pool.submit(write)
            until_somebody_waits(fleet.plane.database)
            assert feed.read() == []
            assert feed.is_waiting
        writing.result()
    assert kinds(feed) == [(task, TaskEventKind.CANCEL_DELIVERED)]


def write_events(fleet: Fleet, task_id: UUID, how_many: int, *, last_of: UUID | None = None) -> None:
    with fleet.plane.database.transaction() as tx:
        tx.run(
            "INSERT INTO task_events (task_id, at, kind, attempt, actor, details)"
            " SELECT CASE WHEN number = :how_many THEN :last_of ELSE :task_id END, corral_now(), 'task.queued', number,"
            " 'test', '{}' FROM generate_series(1, :how_many) AS number ORDER BY number",
            task_id=task_id,
            last_of=last_of or task_id,
            how_many=how_many,
        )


def test_what_was_rolled_back_is_a_gap_that_nobody_waits_at(fleet: Fleet):
    task = fleet.submit()
    feed = EventFeed(fleet.plane.database)
    feed.read()

    with pytest.raises(DBAPIError):
        # The last of its rows belongs to no task.
        write_events(fleet, task, 50, last_of=UUID(int=0))
    fleet.cancel(task)
    assert kinds(feed) == [(task, TaskEventKind.CANCEL_REQUESTED), (task, TaskEventKind.CANCELLED)]
    assert feed.read() == []


def test_more_than_one_look_answers_comes_in_several_without_a_loss(fleet: Fleet):
    feed = EventFeed(fleet.plane.database)
    feed.read()
    task = fleet.submit()
    write_events(fleet, task, 2 * FEED_ROWS + 7)
    looks = [feed.read() for _ in range(4)]
    assert [len(look) for look in looks] == [FEED_ROWS, FEED_ROWS, 8, 0]
    assert [event.attempt for look in looks for event in look] == list(range(2 * FEED_ROWS + 8))


def test_a_feed_that_first_looks_while_a_transaction_is_open_does_not_begin_at_the_dawn_of_time(fleet: Fleet):
    first = fleet.submit()
    feed = EventFeed(fleet.plane.database)
    with fleet.plane.database.transaction() as tx:
        tx.run("UPDATE scheduled_tasks SET priority = 1 WHERE task_id = :task", task=first)
        assert feed.read() == []
        second = fleet.submit()
    assert kinds(feed) == []
    assert kinds(feed) == [(second, TaskEventKind.QUEUED)]


def test_a_feed_goes_on_where_another_one_was(fleet: Fleet):
    feed = EventFeed(fleet.plane.database)
    feed.read()
    first, second = fleet.submit(), fleet.submit()
    feed.read()
    assert feed.position is not None
    third = fleet.submit()
    other = EventFeed(fleet.plane.database, after=feed.position)
    assert kinds(other) == [(third, TaskEventKind.QUEUED)]
    earlier = EventFeed(fleet.plane.database, after=feed.position - 2)
    assert [task for task, _ in kinds(earlier)] == [first, second, third]


def test_a_feed_that_is_to_go_on_waits_for_an_open_transaction_where_it_is(fleet: Fleet):
    fleet.submit()
    feed = EventFeed(fleet.plane.database)
    feed.read()
    task = fleet.submit()
    other = EventFeed(fleet.plane.database, after=feed.position)
    with fleet.plane.database.transaction() as tx:
        tx.run("UPDATE scheduled_tasks SET priority = 1 WHERE task_id = :task", task=task)
        assert other.read() == []
        assert other.is_waiting
        assert other.position == feed.position
    assert kinds(other) == [(task, TaskEventKind.QUEUED)]
    assert not other.is_waiting


def test_a_position_is_kept_and_never_goes_back(fleet: Fleet):
    with fleet.plane.database.transaction() as tx:
        tx.run("DELETE FROM feed_positions")
        assert position_of(tx, "somebody") is None
        for position in (7, 5):
            note_position(tx, "somebody", position)
        assert position_of(tx, "somebody") == 7


def test_the_ends_of_tasks_are_found_by_themselves(fleet: Fleet):
    with fleet.plane.database.statement() as tx:
        before = last_event_id(tx)
    host = fleet.host(name="bench")
    run = fleet.running(host)
    host.report(run, "done", result={"steps": 3})
    fleet.submit()
    with fleet.plane.database.statement() as tx:
        (end,) = ends_of_tasks(tx, after=before, until=last_event_id(tx))
    assert (end.task_id, end.kind, end.result, end.serial) == (
        run.task_id,
        TaskEventKind.DONE,
        {"steps": 3},
        run.device_serial,
    )
