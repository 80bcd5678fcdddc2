"""Tasks as the public API speaks of them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from corral.contract.models import EnvName, LabelKey, LabelValue, Line, Reason, Strict, Text, Tolerant

#: A list of labels is for people to filter by; what is larger belongs into the flow's env.
MAX_LABELS = 32
MAX_REQUIREMENTS = 16
MAX_FILES = 200
MAX_ENV = 200


class TaskKind(StrEnum):
    """How the wish is written down: `flow` as steps, `goal` in plain words for an agent."""

    FLOW = "flow"
    GOAL = "goal"


class TaskStatus(StrEnum):
    """Where a task is in its life. A pending cancel is no status but `is_cancelling` on assigned or dispatched."""

    QUEUED = "queued"
    ASSIGNED = "assigned"
    DISPATCHED = "dispatched"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL_STATUSES


TERMINAL_STATUSES = frozenset({TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED})


class RequirementOperator(StrEnum):
    EQ = "eq"
    IN = "in"
    EXISTS = "exists"


class Requirement(Strict):
    """A condition on the labels of a device and its host; a task only goes where all of its conditions hold.

    Besides the labels that people give, a device carries `model`, `manufacturer`, `android_version`, `serial` and
    `host` (the host's name).
    """

    label: LabelKey
    op: RequirementOperator = RequirementOperator.EQ
    value: LabelValue | Annotated[list[LabelValue], Field(min_length=1, max_length=50)] | None = None

    @model_validator(mode="after")
    def _value_fits_operator(self) -> "Requirement":
        match self.op:
            case RequirementOperator.EQ if not isinstance(self.value, str):
                raise ValueError("op 'eq' needs a text as its value")
            case RequirementOperator.IN if not isinstance(self.value, list):
                raise ValueError("op 'in' needs a list of texts as its value")
            case RequirementOperator.EXISTS if self.value is not None:
                raise ValueError("op 'exists' takes no value")
            case _:
                return self


class TaskSubmission(Strict):
    """The body of `POST /v1/tasks`."""

    kind: TaskKind
    name: Line | None = Field(default=None, description="For people; the flow's own name where it has one.")
    flow: Text | None = Field(default=None, description="The flow as YAML text, for kind `flow`.")
    files: Annotated[
        dict[Annotated[Text, StringConstraints(min_length=1, max_length=500)], Text], Field(max_length=MAX_FILES)
    ] = Field(
        default_factory=dict, description="Path to text of the files that the flow includes with `runFlow: file:`."
    )
    env: Annotated[dict[EnvName, Text], Field(max_length=MAX_ENV)] = Field(
        default_factory=dict, description="Values for `${NAME}` in the flow; they win over the flow's own."
    )
    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=MAX_LABELS)] = Field(default_factory=dict)
    requires: Annotated[list[Requirement], Field(max_length=MAX_REQUIREMENTS)] = Field(
        default_factory=list[Requirement]
    )
    priority: int = Field(default=0, ge=-100, le=100, description="Higher goes first; equals go by age.")
    max_attempts: int = Field(
        default=2, ge=1, le=10, description="How many runs a task may use up when hosts or devices fail under it."
    )
    timeout_seconds: int | None = Field(
        default=None, ge=1, le=86_400, description="A run that takes longer is stopped and the task fails."
    )
    queue_timeout_seconds: int | None = Field(
        default=None, ge=1, le=30 * 86_400, description="A task that waits longer for a device fails."
    )
    batch_id: Line | None = None

    @model_validator(mode="after")
    def _flow_has_a_flow(self) -> "TaskSubmission":
        if self.kind is TaskKind.FLOW and not self.flow:
            raise ValueError("kind 'flow' needs the flow's YAML text in `flow`")
        return self


class Progress(Tolerant):
    """How far a run is. It rides on the renewals, so it may lag by a third of a lease."""

    step: int = Field(default=0, ge=0, description="Steps that have begun, counted from 1.")
    steps_total: int | None = Field(default=None, ge=0)
    text: Annotated[str, StringConstraints(max_length=500)] = ""
    checkpoint: Literal["running", "done", "failed", "cancelled"] = "running"


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


class TaskView(Tolerant):
    """A task as lists show it."""

    task_id: UUID
    kind: TaskKind
    name: str | None
    status: TaskStatus
    is_cancelling: bool = Field(description="A cancel is pending: requested, and the task has not ended yet.")
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    priority: int
    labels: dict[str, str]
    batch_id: str | None
    created_at: datetime
    created_by: str
    started_at: datetime | None = Field(description="When the current or last attempt was claimed.")
    finished_at: datetime | None
    attempt: int = Field(description="Attempts so far, counted from 1; 0 before the first claim.")
    max_attempts: int
    host_id: UUID | None
    device_id: UUID | None
    progress: Progress | None
    failure_reason: str | None


class TaskDetail(TaskView):
    """A task as `GET /v1/tasks/{task_id}` shows it."""

    requires: list[Requirement]
    timeout_seconds: int | None
    queue_timeout_seconds: int | None
    flow: str | None
    files: dict[str, str]
    result: dict[str, Any] | None
    waiting_reason: str | None = Field(description="Why a queued task is not on a device yet, in words.")
    cancellation: CancellationReceipt | None


class TaskPage(Tolerant):
    """Tasks from the youngest to the oldest; `next_page_token` leads on where there are more."""

    tasks: list[TaskView]
    next_page_token: str | None


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
