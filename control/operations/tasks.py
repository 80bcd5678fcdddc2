"""Look at tasks."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from control.domain.errors import InvalidPageToken, TaskNotFound
from control.domain.requirements import device_labels, unmet
from control.operations.plane import Plane
from control.operations.views import receipt, task_view
from control.store import attempts, events, hosts, tasks
from control.store.database import Transaction
from corral.contract.goals import AGENT_LABEL, GOALS_LABEL
from corral.contract.history import AttemptList, AttemptView, TaskEventList, TaskEventView
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import Requirement, TaskDetail, TaskPage

#: Labels that the author of a goal may never have written.
_MEANT = {
    AGENT_LABEL: f"`{AGENT_LABEL}` is the model that the device's host has for goals",
    GOALS_LABEL: f"`{GOALS_LABEL}` have the devices whose host runs goals",
}


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
            **({"statuses": [status.value for status in self.statuses]} if self.statuses else {}),
            **({"is_cancelling": self.is_cancelling} if self.is_cancelling is not None else {}),
            **({"labels": json.dumps(self.labels, sort_keys=True)} if self.labels else {}),
            **({"host_id": self.host_id} if self.host_id else {}),
            **({"device_id": self.device_id} if self.device_id else {}),
            **({"batch_id": self.batch_id} if self.batch_id is not None else {}),
        }


def list_tasks(plane: Plane, filters: TaskFilters, *, page_token: str | None, limit: int) -> TaskPage:
    """A page of tasks, youngest first.

    Raises:
        InvalidPageToken: the token is not one of ours, or was given out for other filters.
    """
    parameters = filters.parameters()
    before = _read_token(page_token, parameters) if page_token else None
    with plane.database.snapshot() as tx:
        conditions = [tasks.TASK_CONDITIONS[name] for name in parameters]
        rows = tasks.list_tasks(tx, conditions, parameters, before=before, limit=limit + 1)
        views = [task_view(row) for row in rows[:limit]]
    has_more = len(rows) > limit
    return TaskPage(tasks=views, next_page_token=_token(views[-1].task_id, parameters) if has_more else None)


def show_task(plane: Plane, task_id: UUID) -> TaskDetail:
    """Everything about one task, with the receipt of its cancellation.

    Raises:
        TaskNotFound: there is no such task.
    """
    with plane.database.snapshot() as tx:
        return show_task_in(tx, task_id)


def show_task_in(tx: Transaction, task_id: UUID) -> TaskDetail:
    """The same inside a transaction that is open already."""
    row = tasks.task_detail(tx, task_id)
    if row is None:
        raise task_not_found(task_id)
    requires = [Requirement.model_validate(one) for one in row["requires"]]
    is_queued = row["status"] == TaskStatus.QUEUED
    return TaskDetail.model_validate(
        {
            **row,
            "is_cancelling": row["cancel_requested_at"] is not None,
            "requires": requires,
            "waiting_reason": waiting_reason(tx, requires) if is_queued else None,
            "cancellation": receipt(tx, task_id),
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


def waiting_reason(tx: Transaction, requires: list[Requirement]) -> str:
    """Why a queued task is on no device yet, in words for whoever waits."""
    known = [row for row in hosts.devices(tx) if row["state"] != "absent"]
    if not known:
        return "no device is known yet: start a host with `corral host`"
    suiting = [row for row in known if not unmet(requires, device_labels(row))]
    if not suiting:
        wanted = ", ".join(requirement.describe() for requirement in requires)
        meant = "".join(f"; {_MEANT[one.label]}" for one in requires if one.label in _MEANT)
        return f"none of the {len(known)} known devices has what the task requires: {wanted}{meant}"
    usable = [row for row in suiting if row["is_online"] and not row["is_draining"]]
    if not usable:
        return f"{len(suiting)} devices suit the task, and none of them is online, ready and on a host that takes tasks"
    if all(row["task_id"] for row in usable):
        return f"all {len(usable)} devices that suit the task are busy"
    return "a device is free: the task is about to be assigned"


def _token(task_id: UUID, parameters: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(task_id.bytes + _seal(task_id, parameters)).rstrip(b"=").decode()


def _read_token(token: str, parameters: dict[str, Any]) -> UUID:
    try:
        content = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        task_id = UUID(bytes=content[:16])
    except ValueError:
        raise _invalid_token() from None
    if content[16:] != _seal(task_id, parameters):
        raise _invalid_token()
    return task_id


def _seal(task_id: UUID, parameters: dict[str, Any]) -> bytes:
    """Binds a token to its filters. It holds only a position, so it needs no secret."""
    text = json.dumps([str(task_id), parameters], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:8]


def _invalid_token() -> InvalidPageToken:
    return InvalidPageToken("this page token was not given out for this list; begin again without one")
