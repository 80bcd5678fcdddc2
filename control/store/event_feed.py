"""The audit trail of all tasks as one stream: in order, nothing left out, nothing twice.

Ids are given out before their transactions commit, so an event with a smaller id may appear after one with a greater.
An id counts as final once every transaction that may have taken it, or a smaller one, has ended:

    mark:  the last id given out, then a number of a transaction of our own     (in this order)
    final: all ids up to the mark's, once no transaction below the mark's number is in progress

A snapshot does not tell the number of the next transaction: it leaves out those that have one already and are younger
than all that have ended. And a transaction has no number before its first change: one that writes an event has changed
a row before, or sees to its number by itself, as `record_events` does.

Events of one task are in the order of what happened in any case: whoever writes them holds the row of the task, or of
its lease. Only the delivery of a cancel to a host that repeats its claim may stand behind the task's end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from control.store.database import Database, Transaction
from control.store.events import END_KINDS, IS_AN_END
from corral.contract.history import TaskEventKind
from corral.contract.tasks import TaskKind

#: How many events one look answers at most.
FEED_ROWS = 500


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """What happened to a task, with what whoever tells of it needs to know of the task.

    Fields of the task are None once it has been purged, those of the attempt while there is none.
    """

    event_id: int
    task_id: UUID
    at: datetime
    kind: TaskEventKind
    attempt: int
    actor: str
    details: Mapping[str, Any]
    task_kind: TaskKind | None
    task_name: str | None
    labels: Mapping[str, str] | None
    created_by: str | None
    #: The host that the event is about: the one it was assigned to, or that has or had the attempt.
    host_id: UUID | None
    claimed_at: datetime | None
    result: Mapping[str, Any] | None
    #: When the task's status changed the last time before this event.
    changed_before_at: datetime | None
    cancel_requested_at: datetime | None
    #: Of the device that the event is about.
    serial: str | None = None
    #: When the task was taken in.
    created_at: datetime | None = None

    @property
    def word(self) -> str:
        """Its kind without what all kinds begin with, such as `done`."""
        return self.kind.value.removeprefix("task.")

    @property
    def is_end(self) -> bool:
        """The task has ended, for good."""
        return self.kind in END_KINDS

    @property
    def is_after_run(self) -> bool:
        """A run of the task has come to its end with this event, if the event is one that ends runs."""
        # What a claim writes has one time; after a task has come back to the queue, its last attempt is an older story.
        return self.claimed_at is not None and self.claimed_at == self.changed_before_at


@dataclass(frozen=True, slots=True)
class _Mark:
    last_id: int
    transaction: int


class EventFeed:
    """Reads on from where it began: after an event, or at the end of the trail as it was then. For one thread."""

    def __init__(self, database: Database, *, after: int | None = None) -> None:
        self._database = database
        self._after = after
        self._final: int | None = None
        self._mark: _Mark | None = None

    @property
    def position(self) -> int | None:
        """All events up to this one have been read; None before the first look. Another feed may begin after it."""
        return self._after

    @property
    def is_waiting(self) -> bool:
        """Whether there may be events that cannot be read yet: a transaction that may have written some is open."""
        return self._mark is not None

    def read(self) -> list[FeedEvent]:
        """The next events, at most `FEED_ROWS`; none where nothing has happened, or nothing is final yet."""
        with self._database.statement() as tx:
            self._look(tx)
            if self._final is None:
                return []
            if self._after is None:
                self._after = self._final
            if self._final <= self._after:
                return []
            events = _events(tx, "true", after=self._after, until=self._final)
        # Ids without an event were rolled back.
        self._after = events[-1].event_id if len(events) == FEED_ROWS else self._final
        return events

    def _look(self, tx: Transaction) -> None:
        self._mark = self._mark or self._fresh_mark(tx)
        if self._mark is not None and _oldest_transaction(tx) >= self._mark.transaction:
            self._final, self._mark = self._mark.last_id, None

    def _fresh_mark(self, tx: Transaction) -> _Mark | None:
        """None where no id has been given out since the last mark: numbers of transactions are not for wasting."""
        last_id = last_event_id(tx)
        known = self._after if self._final is None else self._final
        return None if known is not None and last_id <= known else _Mark(last_id, _transaction_of_our_own(tx))


def ends_of_tasks(tx: Transaction, *, after: int, until: int) -> list[FeedEvent]:
    """How tasks ended, in order, among the events after `after` up to `until`."""
    return _events(tx, IS_AN_END, after=after, until=until, limit=until - after)


def position_of(tx: Transaction, reader: str) -> int | None:
    """Up to where this reader has come; None where it has never been."""
    row = tx.row("SELECT after_event_id FROM feed_positions WHERE reader = :reader", reader=reader)
    return row["after_event_id"] if row else None


def note_position(tx: Transaction, reader: str, after_event_id: int) -> None:
    """This reader has come so far. It never goes back: of two, the one that came further is right."""
    tx.run(
        """
        INSERT INTO feed_positions AS position (reader, after_event_id) VALUES (:reader, :after_event_id)
        ON CONFLICT (reader) DO UPDATE SET after_event_id = greatest(position.after_event_id, :after_event_id)
        """,
        reader=reader,
        after_event_id=after_event_id,
    )


def last_event_id(tx: Transaction) -> int:
    """The last id that was given out; some up to it may not have been committed yet."""
    # Its own statement, before the one that numbers transactions: what takes an id later has a number later.
    return int(tx.value("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM task_events_event_id_seq"))


def _transaction_of_our_own(tx: Transaction) -> int:
    """The number of a transaction that has ended when this returns, and greater than all that were given out before."""
    return int(tx.value("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)"))


def _oldest_transaction(tx: Transaction) -> int:
    """The number of the oldest transaction in progress; where there is none, one that is still to come."""
    return int(tx.value("SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)"))


def _events(tx: Transaction, condition: str, *, after: int, until: int, limit: int = FEED_ROWS) -> list[FeedEvent]:
    rows = tx.rows(
        f"""
        SELECT event.event_id, event.task_id, event.at, event.kind, event.attempt, event.actor, event.details,
               task.kind AS task_kind, task.name AS task_name, task.labels, task.created_by, task.created_at,
               coalesce(CAST(event.details ->> 'host_id' AS uuid), attempt.host_id) AS host_id,
               attempt.claimed_at, attempt.result, request.at AS cancel_requested_at,
               device.serial,
               (
                   SELECT former.at FROM task_events AS former
                   WHERE former.task_id = event.task_id AND former.event_id < event.event_id
                       AND former.kind NOT LIKE 'task.cancel\\_%'
                   ORDER BY former.event_id DESC LIMIT 1
               ) AS changed_before_at
        FROM task_events AS event
        LEFT JOIN scheduled_tasks AS task ON task.task_id = event.task_id
        LEFT JOIN task_attempts AS attempt ON attempt.task_id = event.task_id AND attempt.attempt = event.attempt
        LEFT JOIN task_events AS request
            ON request.task_id = event.task_id AND request.kind = 'task.cancel_requested'
        LEFT JOIN devices AS device
            ON device.device_id = coalesce(CAST(event.details ->> 'device_id' AS uuid), attempt.device_id)
        WHERE event.event_id > :after AND event.event_id <= :until AND {condition}
        ORDER BY event.event_id LIMIT :limit
        """,
        after=after,
        until=until,
        limit=limit,
    )
    return [_event(dict(row)) for row in rows]


def _event(values: dict[str, Any]) -> FeedEvent:
    values["kind"] = TaskEventKind(values["kind"])
    values["task_kind"] = TaskKind(values["task_kind"]) if values["task_kind"] else None
    return FeedEvent(**values)
