"""Tasks as the public API speaks of them."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from corral.contract.cancellation import CancellationReceipt
from corral.contract.goals import AgentOptions, AgentView
from corral.contract.models import EnvName, Goal, LabelKey, LabelValue, Line, Strict, Text, Tolerant
from corral.contract.task_status import TaskStatus

#: A list of labels is for people to filter by; what is larger belongs into the flow's env.
MAX_LABELS = 32
MAX_REQUIREMENTS = 16
MAX_FILES = 200
MAX_ENV = 200


class TaskKind(StrEnum):
    """How the wish is written down: `flow` as steps, `goal` in plain words for an agent."""

    FLOW = "flow"
    GOAL = "goal"


class RequirementOperator(StrEnum):
    """How a label is compared: `ge` and `le` compare versions, the others texts."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NOT_IN = "not_in"
    GE = "ge"
    LE = "le"
    EXISTS = "exists"


_SIGNS = {
    RequirementOperator.EQ: "=",
    RequirementOperator.NE: "!=",
    RequirementOperator.IN: " in ",
    RequirementOperator.NOT_IN: " not in ",
    RequirementOperator.GE: ">=",
    RequirementOperator.LE: "<=",
}

#: What `ge` and `le` compare: numbers between dots.
_VERSION = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18}){0,7}")


def version(text: str) -> tuple[int, ...] | None:
    """`14` and `12.1` as numbers to compare, where 12.10 is more than 12.9 and 12 equals 12.0; None for other texts."""
    if not _VERSION.fullmatch(text):
        return None
    numbers = [int(part) for part in text.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class Requirement(Strict):
    """A condition on the labels of a device and its host; a task only goes where all of its conditions hold.

    Besides the labels that people give, a device carries `model`, `manufacturer`, `android_version`, `serial`, `host`
    (the host's name), `goals` where its host runs goals, and `agent`, the model that its host has for them.
    A device without the label meets `ne` and `not_in`, and none of the others.
    """

    label: LabelKey
    op: RequirementOperator = RequirementOperator.EQ
    value: LabelValue | Annotated[list[LabelValue], Field(min_length=1, max_length=50)] | None = None

    @model_validator(mode="after")
    def _value_fits_operator(self) -> "Requirement":
        match self.op:
            case RequirementOperator.EQ | RequirementOperator.NE if not isinstance(self.value, str):
                raise ValueError(f"op '{self.op}' needs a text as its value")
            case RequirementOperator.IN | RequirementOperator.NOT_IN if not isinstance(self.value, list):
                raise ValueError(f"op '{self.op}' needs a list of texts as its value")
            case RequirementOperator.GE | RequirementOperator.LE if not (
                isinstance(self.value, str) and version(self.value)
            ):
                raise ValueError(f'op \'{self.op}\' needs a number or a version as its value, such as "14" or "12.1"')
            case RequirementOperator.EXISTS if self.value is not None:
                raise ValueError("op 'exists' takes no value")
            case _:
                return self

    def describe(self) -> str:
        """In words: `model=Pixel 9`, `model in Pixel 8, Pixel 9`, `android_version>=12.1`, `has sim`."""
        if self.op is RequirementOperator.EXISTS:
            return f"has {self.label}"
        value = ", ".join(self.value) if isinstance(self.value, list) else self.value
        return f"{self.label}{_SIGNS[self.op]}{value}"


class TaskSubmission(Strict):
    """The body of `POST /v1/tasks`."""

    kind: TaskKind
    name: Line | None = Field(
        default=None, description="For people; the flow's own name where it has one, the first line of the goal."
    )
    flow: Text | None = Field(default=None, description="The flow as YAML text, for kind `flow`.")
    goal: Goal | None = Field(default=None, description="What is to be reached, in plain words, for kind `goal`.")
    verify: Text | None = Field(
        default=None,
        description="For kind `goal`: what must be seen when the agent has finished, as `when` of a flow's `runFlow`.",
    )
    agent: AgentOptions | None = Field(default=None, description="For kind `goal`: model, budgets, secrets.")
    files: Annotated[
        dict[Annotated[Text, StringConstraints(min_length=1, max_length=500)], Text], Field(max_length=MAX_FILES)
    ] = Field(
        default_factory=dict,
        description="Path to text of the files that the flow includes with `runFlow: file:`, or of the flows that the "
        "agent of a goal may run.",
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
    def _is_of_one_kind(self) -> "TaskSubmission":
        if self.kind is TaskKind.FLOW and not self.flow:
            raise ValueError("kind 'flow' needs the flow's YAML text in `flow`")
        if self.kind is TaskKind.GOAL and not (self.goal and self.goal.strip()):
            raise ValueError("kind 'goal' needs the goal in plain words in `goal`")
        foreign = ("goal", "verify", "agent") if self.kind is TaskKind.FLOW else ("flow",)
        for name in foreign:
            if getattr(self, name) is not None:
                raise ValueError(f"kind '{self.kind}' takes no `{name}`")
        return self


class Progress(Tolerant):
    """How far a run is. It rides on the renewals, so it may lag by a third of a lease."""

    step: int = Field(default=0, ge=0, description="Steps that have begun, counted from 1.")
    steps_total: int | None = Field(default=None, ge=0)
    text: Annotated[str, StringConstraints(max_length=500)] = ""
    checkpoint: Literal["running", "done", "failed", "cancelled"] = "running"


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
    goal: str | None = None
    verify: str | None = None
    agent: AgentView | None = None
    files: dict[str, str]
    result: dict[str, Any] | None = Field(description="What the run found; a `GoalResult` for kind `goal`.")
    waiting_reason: str | None = Field(description="Why a queued task is not on a device yet, in words.")
    cancellation: CancellationReceipt | None


class TaskPage(Tolerant):
    """Tasks from the youngest to the oldest; `next_page_token` leads on where there are more."""

    tasks: list[TaskView]
    next_page_token: str | None
