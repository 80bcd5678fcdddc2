"""What the life of an assignment needs from whoever does the work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from uuid import UUID

from corral.contract.cancellation import StoppedBy
from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment, ClaimReply
from corral.contract.tasks import Progress
from workers.assignment.fitting import PROGRESS_CHARACTERS, fit_text
from workers.assignment.guard import LeaseGuard
from workers.run.result import Checkpoint

ProgressSink = Callable[[Progress], None]
#: Name, content, media type.
ArtifactSink = Callable[[str, bytes, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ClaimedAssignment:
    """An assignment, and when the request that claimed it was sent: the lease is counted from there."""

    assignment: Assignment
    sent_at: float
    held_ms: int

    @classmethod
    def from_reply(cls, reply: ClaimReply, *, sent_at: float) -> "list[ClaimedAssignment]":
        """All that one reply gave, each for a device of its own."""
        return [cls(assignment, sent_at, reply.held_ms) for assignment in reply.assignments]

    @property
    def lease_id(self) -> UUID:
        return self.assignment.lease_id


@dataclass(frozen=True, slots=True)
class AssignmentExecutionResult:
    """What came of the work, before the control plane judges it. `stopped_by` counts where it was cancelled."""

    status: Literal["done", "failed", "cancelled"]
    cause: FailureCause | None = None
    failure_reason: str | None = None
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    stopped_by: StoppedBy = StoppedBy.STEP_BOUNDARY


@dataclass(frozen=True, slots=True)
class Sinks:
    """Where a run puts what it tells before its end."""

    on_progress: ProgressSink
    on_artifact: ArtifactSink

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Passes a boundary of the run on as progress."""
        self.on_progress(
            Progress(
                step=checkpoint.step,
                steps_total=checkpoint.steps_total,
                text=fit_text(checkpoint.text, max_characters=PROGRESS_CHARACTERS),
                checkpoint=checkpoint.status,
            )
        )


class CannotRun(Exception):
    """This host cannot run this assignment; nothing was done on the device."""

    def __init__(self, cause: FailureCause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Execution(Protocol):
    """Does the work of an assignment and returns only when all of it has settled.

    It asks `guard.should_stop` at its boundaries and `guard.may_touch` before each action. A stop because of a cancel
    is `cancelled`, a stop for any other reason `failed`.
    """

    async def execute(
        self, assignment: Assignment, *, guard: LeaseGuard, on_progress: ProgressSink, on_artifact: ArtifactSink
    ) -> AssignmentExecutionResult: ...
