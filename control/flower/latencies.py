"""How long each step of a task's life took, read off the audit trail: exact, and at no cost for those who wrote it."""

from collections.abc import Sequence
from datetime import datetime

from prometheus_client import Histogram

from control.flower.metrics import (
    ASSIGN_SECONDS,
    CANCEL_SECONDS,
    CLAIM_SECONDS,
    REQUEUES,
    RUN_SECONDS,
    TASK_EVENTS,
    TASKS_ENDED,
)
from control.store.event_feed import FeedEvent
from corral.contract.history import TaskEventKind

_UNTIL = {TaskEventKind.CANCEL_DELIVERED: "delivered", TaskEventKind.CANCEL_SEEN: "seen"}
_ACTORS = frozenset({"host", "reaper"})


def observe(events: Sequence[FeedEvent]) -> None:
    """Count these events; each is to come once."""
    for event in events:
        TASK_EVENTS.labels(event.word).inc()
        if event.kind is TaskEventKind.ASSIGNED:
            _since(ASSIGN_SECONDS, event.changed_before_at, event.at)
        elif event.kind is TaskEventKind.DISPATCHED:
            _since(CLAIM_SECONDS, event.changed_before_at, event.at)
        elif event.kind in _UNTIL:
            _since(CANCEL_SECONDS.labels(_UNTIL[event.kind]), event.cancel_requested_at, event.at)
        elif event.kind is TaskEventKind.REQUEUED:
            actor = event.actor.partition(":")[0]
            REQUEUES.labels(actor if actor in _ACTORS else "other").inc()
            _observe_run(event)
        elif event.is_end:
            TASKS_ENDED.labels(event.word).inc()
            _observe_run(event)
            until = "ended" if event.is_after_run else "ended_before_start"
            _since(CANCEL_SECONDS.labels(until), event.cancel_requested_at, event.at)


def _observe_run(event: FeedEvent) -> None:
    if event.is_after_run:
        _since(RUN_SECONDS.labels(event.word), event.claimed_at, event.at)


def _since(histogram: Histogram, earlier: datetime | None, later: datetime) -> None:
    if earlier is not None:
        # A transaction is dated at its beginning, and may have waited for one that began after it.
        histogram.observe(max(0.0, (later - earlier).total_seconds()))
