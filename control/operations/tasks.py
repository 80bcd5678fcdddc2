"""Look at tasks."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from control.domain.errors import InvalidPageToken, TaskNotFound
from control.operations.plane import Plane
from control.operations.views import receipt_of, task_view
from control.store import attempts, events, tasks
from control.store.database import Transaction
from control.store.tasks import Place
from corral.contract.history import AttemptList, AttemptView, TaskEventKind, TaskEventList, TaskEventView
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import Requirement, TaskDetail, TaskPage

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TaskFilters:
    """What a list is narrowed by; None and empty mean all."""

    statuses: tuple[TaskStatus, ...] = ()
    is_cancelling: bool | None = None
    labels: dict[str, str] = field(default_factory=dict[str, str])
    host_id: UUID | None = None
    device_id: UUID | None = None
    batch_id: str | None = None

    def parameters(self) -> dict[str, Any]:
        """The filters that are set, by name."""
        return {
            **_of_statuses([status.value for status in self.statuses]),
            **({"is_cancelling": self.is_cancelling} if self.is_cancelling is not None else {}),
            **({"labels": json.dumps(self.labels, sort_keys=True)} if self.labels else {}),
            **({"host_id": self.host_id} if self.host_id else {}),
            **({"device_id": self.device_id} if self.device_id else {}),
            **({"batch_id": self.batch_id} if self.batch_id is not None else {}),
        }


def _of_statuses(statuses: list[str]) -> dict[str, Any]:
    # One alone is a condition of its own: only for that does Postgres find the youngest by its index.
    if len(statuses) == 1:
        return {"status": statuses[0]}
    return {"statuses": statuses} if statuses else {}


def list_tasks(plane: Plane, filters: TaskFilters, *, page_token: str | None, limit: int) -> TaskPage:
    """A page of tasks, youngest first.

    Raises:
        InvalidPageToken: the token is not one of ours, or was given out for other filters.
    """
    parameters = filters.parameters()
    before = _read_token(page_token, parameters) if page_token else None
    with plane.database.statement() as tx:
        conditions = [tasks.TASK_CONDITIONS[name] for name in parameters]
        rows = tasks.list_tasks(tx, conditions, parameters, before=before, limit=limit + 1)
        views = [task_view(row) for row in rows[:limit]]
    last = Place(views[-1].created_at, views[-1].task_id) if len(rows) > limit else None
    return TaskPage(tasks=views, next_page_token=_token(last, parameters) if last else None)


def show_task(plane: Plane, task_id: UUID) -> TaskDetail:
    """Everything about one task, with the receipt of its cancellation.

    Raises:
        TaskNotFound: there is no such task.
    """
    with plane.database.statement() as tx:
        return show_task_in(plane, tx, task_id)


def show_task_in(plane: Plane, tx: Transaction, task_id: UUID) -> TaskDetail:
    """The same on a connection that is open already. All but the reason to wait is read by one statement."""
    row = tasks.shown_task(tx, task_id)
    if row is None:
        raise task_not_found(task_id)
    requires = [Requirement.model_validate(one) for one in row["requires"]]
    is_queued = row["status"] == TaskStatus.QUEUED
    return TaskDetail.model_validate(
        {
            **row,
            "is_cancelling": row["cancel_requested_at"] is not None,
            "requires": requires,
            "waiting_reason": plane.waiting.reason(tx, requires) if is_queued else None,
            "cancellation": receipt_of({TaskEventKind(fact["kind"]): fact for fact in row["facts"] or ()}),
        }
    )


def list_attempts(plane: Plane, task_id: UUID) -> AttemptList:
    """The attempts of a task, first to last.

    Raises:
        TaskNotFound: there is no such task.
    """
    with plane.database.snapshot() as tx:
        must_exist(tx, task_id)
        rows = attempts.attempts_of(tx, task_id)
        return AttemptList(attempts=[AttemptView.model_validate(dict(row)) for row in rows])


def list_events(plane: Plane, task_id: UUID, *, after: int = 0, limit: int = 500) -> TaskEventList:
    """What happened to a task, in order, from the event `after` on.

    Raises:
        TaskNotFound: there is no such task.
    """
    with plane.database.snapshot() as tx:
        must_exist(tx, task_id)
        rows = events.events_of(tx, task_id, after=after, limit=limit)
        return TaskEventList(events=[TaskEventView.model_validate(dict(row)) for row in rows])


def must_exist(tx: Transaction, task_id: UUID) -> None:
    """Raises TaskNotFound where there is no such task."""
    if not tasks.task_exists(tx, task_id):
        raise task_not_found(task_id)


def task_not_found(task_id: UUID) -> TaskNotFound:
    return TaskNotFound(f"there is no task {task_id}", task_id=str(task_id))


def _token(place: Place, parameters: dict[str, Any]) -> str:
    microseconds = (place.created_at - _EPOCH) // _MICROSECOND
    content = place.task_id.bytes + microseconds.to_bytes(8) + _seal(place, parameters)
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _read_token(token: str, parameters: dict[str, Any]) -> Place:
    try:
        content = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        created_at = _EPOCH + int.from_bytes(content[16:24]) * _MICROSECOND
        place = Place(created_at, UUID(bytes=content[:16]))
    except (ValueError, OverflowError):
        raise _invalid_token() from None
    if content[24:] != _seal(place, parameters):
        raise _invalid_token()
    return place


def _seal(place: Place, parameters: dict[str, Any]) -> bytes:
    """Binds a token to its filters. It holds only a place, so it needs no secret."""
    text = json.dumps([*place, parameters], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:8]


def _invalid_token() -> InvalidPageToken:
    return InvalidPageToken("this page token was not given out for this list; begin again without one")
