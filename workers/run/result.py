"""What a run tells while it goes on, and at its end."""

from dataclasses import dataclass
from typing import Literal

from workers.device.outcome import ErrorCode

RunStatus = Literal["done", "failed", "cancelled"]
FailureCause = Literal["task", "infrastructure"]

#: A selector of many parts, and the texts of the screen, make long reasons.
MAX_REASON_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A boundary between steps.

    While the run is `running`, `step` is about to begin, counted from 1. In the last checkpoint of a run, which has
    its final status, `step` is the last one that ended. `steps_total` is None where nobody knows it.
    """

    step: int
    steps_total: int | None
    text: str
    status: Literal["running"] | RunStatus


@dataclass(frozen=True, slots=True)
class RunResult:
    """`cause` and `failure_reason` are set unless the run is done; a cancelled run has no cause.

    `warnings` name optional steps that failed and fields without effect. `artifacts` are the names handed out. `code`
    is the device's word for what made it fail.
    """

    status: RunStatus
    cause: FailureCause | None
    failure_reason: str | None
    steps_total: int
    steps_finished: int
    warnings: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    code: ErrorCode | None = None
