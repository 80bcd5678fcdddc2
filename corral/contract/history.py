"""What has happened to a task: its attempts, its events, and the files that its runs left behind."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import Field

from corral.contract.models import Tolerant


class AttemptStatus(StrEnum):
    """How one attempt goes: it begins `dispatched` at the claim; an `expired` one lost its lease."""

    DISPATCHED = "dispatched"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class FailureCause(StrEnum):
    """`task`: the flow itself failed, which is final. `infrastructure`: host or device failed under it."""

    TASK = "task"
    INFRASTRUCTURE = "infrastructure"


class AttemptView(Tolerant):
    attempt: int
    status: AttemptStatus
    host_id: UUID
    device_id: UUID
    claimed_at: datetime
    finished_at: datetime | None
    cause: FailureCause | None
    failure_reason: str | None
    result: dict[str, Any] | None


class AttemptList(Tolerant):
    attempts: list[AttemptView]


class TaskEventKind(StrEnum):
    """What happened to a task, one row each in the audit trail."""

    QUEUED = "task.queued"
    ASSIGNED = "task.assigned"
    DISPATCHED = "task.dispatched"
    REQUEUED = "task.requeued"
    CANCEL_REQUESTED = "task.cancel_requested"
    CANCEL_DELIVERED = "task.cancel_delivered"
    CANCEL_SEEN = "task.cancel_seen"
    DONE = "task.done"
    FAILED = "task.failed"
    CANCELLED = "task.cancelled"


class TaskEventView(Tolerant):
    event_id: int = Field(description="Grows within a task; pass the last one as `after` to read on.")
    at: datetime
    kind: TaskEventKind
    attempt: int
    actor: str = Field(description="`key:<name>`, `host:<host_id>`, or the part of Corral that acted.")
    details: dict[str, Any]


class TaskEventList(Tolerant):
    events: list[TaskEventView]


class ArtifactView(Tolerant):
    name: str
    attempt: int
    media_type: str
    size_bytes: int
    sha256: str
    created_at: datetime
    is_late: bool = Field(description="It came after its lease had ended: kept as evidence.")


class ArtifactList(Tolerant):
    artifacts: list[ArtifactView]
