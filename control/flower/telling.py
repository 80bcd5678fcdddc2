"""What the leader tells: every event once, in order, and as often as it takes.

    feed ─ batch ─► mapped ─► published ─► counted, traced ─► the next batch
                      ▲            │ not taken
                      └────────────┘ the same batch again

A batch is let go once Redis has taken it, so memory holds one; all else waits in Postgres. The position is kept there
too, and the next leader goes on from it: what a killed one told in its last second is told again, to no effect.
"""

import time
from collections.abc import Callable, Sequence

from control.flower.events import CeleryEvent, celery_event
from control.flower.latencies import observe
from control.flower.snapshot import Requests, ended_again, snapshot
from control.flower.spans import trace
from control.flower.stream import EventStream, NobodyTold
from control.flower.workers import RollCall
from control.operations.plane import Plane
from control.store.event_feed import (
    EventFeed,
    FeedEvent,
    ends_of_tasks,
    last_event_id,
    note_position,
    position_of,
)
from corral.contract.history import TaskEventKind

READER = "bridge"
#: In one go; heartbeats are to have their turn.
MOST_BATCHES = 20
#: After a longer time without a leader, the oldest events are left out: nobody waits for an hour to see yesterday.
MOST_REPLAYED = 20_000
#: Consumers lose their connection with us, and come back later than we do; Flower waits twice as long each time.
MISSED_FOR_SECONDS = 900.0
#: What Redis took and had not handed on when it went away.
MISSED_EVENTS = 1_000
_GIVEN_TO_A_HOST = {TaskEventKind.ASSIGNED, TaskEventKind.DISPATCHED}


class Telling:
    """One term of a leader. For one thread, but for `requests`."""

    def __init__(
        self, plane: Plane, stream: EventStream, requests: Requests, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._plane = plane
        self.stream = stream
        self.requests = requests
        self._clock = clock
        self._roll_call = RollCall(plane)
        self._feed = EventFeed(plane.database, after=_begin_after(plane))
        self._batch: list[FeedEvent] = []
        self._noted: int | None = None
        self._missed_after: int | None = None
        self._missed_until = 0.0
        # Those who listened to another leader, or to none, are to hear how things stand.
        requests.ask()

    def tell_events(self) -> None:
        """Tell what has happened, up to some thousands of events: the next call goes on.

        Raises:
            NobodyTold: Redis is away; the next call begins with the same events.
        """
        for _ in range(MOST_BATCHES):
            self._batch = self._batch or self._feed.read()
            if not self._batch:
                return
            self._publish(self._as_celery_says(self._batch))
            told, self._batch = self._batch, []
            observe(told)
            trace(told)

    def tell_heartbeats(self) -> None:
        """Say who came, who left and who is there."""
        self._publish(self._roll_call.look())

    def answer_requests(self) -> None:
        """Say how things stand where a consumer has asked for it."""
        if self.requests.take():
            self._publish([*self._missed(), *snapshot(self._plane, self._roll_call)])

    def note_position(self) -> None:
        """Keep in Postgres how far all was told."""
        position = self._told_until
        if position != self._noted:
            with self._plane.database.statement() as tx:
                note_position(tx, READER, position)
            self._noted = position

    @property
    def is_waiting(self) -> bool:
        """Whether something may have happened that cannot be told yet."""
        return bool(self._batch) or self._feed.is_waiting

    @property
    def _told_until(self) -> int:
        return self._batch[0].event_id - 1 if self._batch else self._feed.position or 0

    def _publish(self, events: Sequence[CeleryEvent]) -> None:
        try:
            self.stream.publish(events)
        except NobodyTold:
            if self._missed_after is None:
                self._missed_after = self._told_until - MISSED_EVENTS
            self._missed_until = self._clock() + MISSED_FOR_SECONDS
            # Of hosts, what was not taken is not said again: how they stand is.
            self.requests.ask()
            raise

    def _as_celery_says(self, batch: Sequence[FeedEvent]) -> list[CeleryEvent]:
        busy = {event.host_id for event in batch if event.host_id and event.kind in _GIVEN_TO_A_HOST}
        # One that has just come is shown before its first task is.
        arrived = [] if self._roll_call.knows(busy) else self._roll_call.look()
        self._roll_call.learn_names(event.host_id for event in batch if event.host_id)
        told = [one for event in batch if (one := celery_event(event, self._roll_call.name)) is not None]
        return [*arrived, *told, *self._roll_call.still_away(told)]

    def _missed(self) -> list[CeleryEvent]:
        if self._missed_after is None or self._clock() > self._missed_until:
            self._missed_after = None
            return []
        until = self._told_until
        with self._plane.database.statement() as tx:
            ends = ends_of_tasks(tx, after=max(self._missed_after, until - MOST_REPLAYED), until=until)
        self._roll_call.learn_names(end.host_id for end in ends if end.host_id)
        return ended_again(ends, self._roll_call.name)


def _begin_after(plane: Plane) -> int:
    with plane.database.statement() as tx:
        last = last_event_id(tx)
        before = position_of(tx, READER)
    # The first of all begins a little before now, for some of what was last given a number is not committed yet.
    return max(0, last - MISSED_EVENTS) if before is None else min(max(before, last - MOST_REPLAYED), last)
