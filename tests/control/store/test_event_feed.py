"""The stream of all events: in order, complete, and never ahead of a transaction that is still open."""

from uuid import UUID

from control.store.event_feed import EventFeed
from corral.contract.history import TaskEventKind
from tests.control.fleet import Fleet


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
