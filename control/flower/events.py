"""What happened to a task, or is so, as events of Celery. Nothing here asks anybody anything.

    task.queued      task-received    under queue@control           which gives it a Revoke button
    task.assigned    task-received    under the host
    task.dispatched  task-started     under the host
    task.requeued    task-retried     under whoever gave it back    the only event that moves a task back
    task.done        task-succeeded   under the host
    task.failed      task-failed      under whoever decided so
    task.cancelled   task-revoked     under whoever decided so
    task.cancel_…    nothing: an event that Celery does not know would freeze the task's state

Whoever decided is the host that reported, `reaper@control` for hosts that are gone, `queue@control` for what had not
begun. An event counts as a sign of life of the worker that it names.

Events carry no `clock`: each consumer counts those it gets, so that their order is that of arrival, also after this
process begins anew. And no `utcoffset`: an instant is the same in every time zone, and consumers would shift it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from control.flower.device_tasks import shown_arguments, task_name
from control.operations.fleet_workers import QUEUE_WORKER, REAPER_WORKER, WorkerTask
from control.store.event_feed import FeedEvent
from corral.contract.cancellation import StoppedBy
from corral.contract.history import TaskEventKind
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskKind

CeleryEvent: TypeAlias = dict[str, Any]
#: The name of a host as a worker.
WorkerName: TypeAlias = Callable[[UUID], str]

#: Flower keeps the events of many thousands of tasks in its memory.
MOST_CHARACTERS = 2_000


def celery_event(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent | None:
    """The event to publish, or None for what is not to be shown."""
    tell = _TELL.get(event.kind)
    if tell is None or event.task_kind is None:
        return None
    return tell(event, worker_name)


def received(event: FeedEvent, worker: str) -> CeleryEvent:
    """That the task of an event is known to a worker: what Flower takes its name and arguments from."""
    assert event.task_kind is not None  # noqa: S101 - a purged task is not told of
    shown = shown_arguments(event)
    return _received(worker, event.task_id, event.at, kind=event.task_kind, attempts=event.attempt, shown=shown)


def live_task(task: WorkerTask, worker: str) -> list[CeleryEvent]:
    """How a task came to where it is now, for whoever did not hear of it, or heard less."""
    is_running = task.status is TaskStatus.DISPATCHED
    attempts = task.attempt - 1 if is_running else task.attempt
    shown = shown_arguments(task)
    known = _received(worker, task.task_id, task.since, kind=task.task_kind, attempts=attempts, shown=shown)
    # Whoever takes it for started, in a former attempt, would not move it back for less.
    retried = [_task("task-retried", QUEUE_WORKER, task.task_id, task.since, task.task_kind)] if attempts else []
    started = [_task("task-started", worker, task.task_id, task.since, task.task_kind)] if is_running else []
    return [*retried, known, *started]


def _queued(event: FeedEvent, _worker_name: WorkerName) -> CeleryEvent:
    return received(event, QUEUE_WORKER)


def _assigned(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    return received(event, _host(event, worker_name))


def _dispatched(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    return _of("task-started", event, _host(event, worker_name))


def _requeued(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    return _of("task-retried", event, _decider(event, worker_name), exception=_reason(event), traceback=None)


def _done(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    result = repr(dict(event.result)) if event.result is not None else None
    worker = _decider(event, worker_name)
    return _of("task-succeeded", event, worker, result=_cut(result), runtime=_runtime_seconds(event))


def _failed(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    return _of("task-failed", event, _decider(event, worker_name), exception=_reason(event), traceback=None)


def _cancelled(event: FeedEvent, worker_name: WorkerName) -> CeleryEvent:
    had_begun = event.details.get("stopped_by") != StoppedBy.BEFORE_START
    worker = _decider(event, worker_name)
    return _of("task-revoked", event, worker, terminated=had_begun, signum=None, expired=False)


_TELL: dict[TaskEventKind, Callable[[FeedEvent, WorkerName], CeleryEvent]] = {
    TaskEventKind.QUEUED: _queued,
    TaskEventKind.ASSIGNED: _assigned,
    TaskEventKind.DISPATCHED: _dispatched,
    TaskEventKind.REQUEUED: _requeued,
    TaskEventKind.DONE: _done,
    TaskEventKind.FAILED: _failed,
    TaskEventKind.CANCELLED: _cancelled,
}


def _host(event: FeedEvent, worker_name: WorkerName) -> str:
    return worker_name(event.host_id) if event.host_id else QUEUE_WORKER


def _decider(event: FeedEvent, worker_name: WorkerName) -> str:
    if event.actor.startswith("host:"):
        return _host(event, worker_name)
    return REAPER_WORKER if event.actor == "reaper" else QUEUE_WORKER


def _reason(event: FeedEvent) -> str | None:
    return _cut(event.details.get("reason"))


def _runtime_seconds(event: FeedEvent) -> float | None:
    return (event.at - event.claimed_at).total_seconds() if event.claimed_at else None


def _of(kind: str, event: FeedEvent, worker: str, **more: Any) -> CeleryEvent:
    assert event.task_kind is not None  # noqa: S101 - a purged task is not told of
    return _task(kind, worker, event.task_id, event.at, event.task_kind, **more)


def _received(
    worker: str, task_id: UUID, at: datetime, *, kind: TaskKind, attempts: int, shown: Mapping[str, Any]
) -> CeleryEvent:
    more = {"args": "()", "kwargs": _cut(repr(shown)), "retries": attempts, "eta": None, "expires": None}
    return _task("task-received", worker, task_id, at, kind, root_id=str(task_id), parent_id=None, **more)


def _task(event_type: str, worker: str, task_id: UUID, at: datetime, kind: TaskKind, **more: Any) -> CeleryEvent:
    return {
        "type": event_type,
        "hostname": worker,
        "uuid": str(task_id),
        "timestamp": at.timestamp(),
        "name": task_name(kind),
        **more,
    }


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
