"""Asking for a task to be stopped, and the story of that request."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from corral.contract.models import Reason, Strict, Tolerant
from corral.contract.task_status import TaskStatus


class CancellationOutcome(StrEnum):
    PENDING = "pending"
    CANCELLED = "cancelled"
    TOO_LATE = "too_late"


class StoppedBy(StrEnum):
    """What stopped a cancelled task: nothing had started, a boundary between steps, the agent, or the reaper."""

    BEFORE_START = "before_start"
    STEP_BOUNDARY = "step_boundary"
    AGENT = "agent"
    REAPER = "reaper"


class CancellationReceipt(Tolerant):
    """The whole story of one cancel request, made from the audit trail; it stays after the task has ended."""

    requested_at: datetime
    requested_by: str
    reason: str | None = None
    delivered_at: datetime | None = Field(
        default=None, description="The first reply to the host that carried the request."
    )
    seen_at: datetime | None = Field(default=None, description="When the host said that it has seen the request.")
    finished_at: datetime | None = None
    outcome: CancellationOutcome
    stopped_by: StoppedBy | None = None
    confirmed: bool | None = Field(
        default=None, description="False when the reaper decided because the host could not be asked."
    )


class TaskCancellationRequest(Strict):
    """The optional body of `POST /v1/tasks/{task_id}/cancel`."""

    reason: Reason | None = Field(
        default=None, description="For people: shown and kept in the audit trail, never parsed."
    )


class TaskCancellationResponse(Tolerant):
    """Where the task is after the request. 200: it will never run (on); 202: its host will be told, see `status`."""

    task_id: UUID
    status: TaskStatus
    cancel_requested_at: datetime | None
    cancel_reason: str | None = None
    cancellation: CancellationReceipt
