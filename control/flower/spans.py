"""What the audit trail says of a task, as spans: the task itself, its waits, and attempts that nobody else tells of.

    task ─┬─ queued ─ assigned ─ (attempt 1: its host's own span)   queued ─ assigned ─ (attempt 2) ─► ended
          └─ cancelling: from the request to the end

A host tells its attempts by itself. Of one whose host was not heard of any more there is a span `lost attempt` here.
"""

from collections.abc import Sequence
from datetime import datetime

from control.store.event_feed import FeedEvent
from corral.contract.cancellation import StoppedBy
from corral.contract.history import TaskEventKind
from corral.traces.spans import record, record_root

_FAILED_WAITS = frozenset({TaskEventKind.REQUEUED, TaskEventKind.FAILED})
_REAPER = "reaper"
#: Who ends tasks that wait for their host, apart from hosts.
_SYSTEM = frozenset({_REAPER, "scheduler"})


def trace(events: Sequence[FeedEvent]) -> None:
    """Tell the spans that end with these events; each is to come once."""
    for event in events:
        match event.kind:
            case TaskEventKind.ASSIGNED:
                _wait("queued", event)
            case TaskEventKind.DISPATCHED:
                _wait("assigned", event)
            case TaskEventKind.REQUEUED | TaskEventKind.FAILED | TaskEventKind.CANCELLED | TaskEventKind.DONE:
                _end_of_phase(event)
            case _:
                pass
        if event.is_end:
            _end_of_task(event)


def _end_of_phase(event: FeedEvent) -> None:
    if not event.is_after_run:
        _wait("assigned" if _was_assigned(event) else "queued", event)
    elif event.actor == _REAPER and event.claimed_at is not None:
        record(
            "lost attempt",
            event.task_id,
            started_at=event.claimed_at,
            ended_at=max(event.at, event.claimed_at),
            failure="lease lost",
            attempt=event.attempt,
            host_id=event.host_id,
        )


def _was_assigned(event: FeedEvent) -> bool:
    if event.kind is TaskEventKind.FAILED:
        return False  # only the queue timeout ends a wait as failed
    is_cancelled = event.details.get("stopped_by") == StoppedBy.BEFORE_START
    return event.kind is TaskEventKind.REQUEUED or (is_cancelled and event.actor in _SYSTEM)


def _wait(name: str, event: FeedEvent) -> None:
    since = event.changed_before_at
    # A task that is given with the answer to a report is assigned and claimed in one moment.
    if since is not None and since < event.at:
        failure = event.word if event.kind in _FAILED_WAITS else None
        record(name, event.task_id, started_at=since, ended_at=event.at, failure=failure, host_id=event.host_id)


def _end_of_task(event: FeedEvent) -> None:
    since = event.cancel_requested_at
    if since is not None:
        record("cancelling", event.task_id, started_at=since, ended_at=max(event.at, since), outcome=event.word)
    record_root(
        "task",
        event.task_id,
        started_at=_beginning(event),
        ended_at=event.at,
        failure="failed" if event.kind is TaskEventKind.FAILED else None,
        kind=event.task_kind,
        name=event.task_name,
        created_by=event.created_by,
        outcome=event.word,
        attempts=event.attempt,
        host_id=event.host_id,
    )


def _beginning(event: FeedEvent) -> datetime:
    # Of a task that was purged already, no more is known than what is told now.
    return min(event.created_at or event.at, event.at)
