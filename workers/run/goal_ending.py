"""What the end of an agent's turn means for its task."""

from dataclasses import dataclass

from workers.agent.model.interface import ModelErrorCode
from workers.agent.outcome import TurnOutcome
from workers.agent.session.session import LogUnwritable
from workers.agent.turn import DEFECT
from workers.device.outcome import ENDING_CODES
from workers.run.result import FailureCause, RunStatus
from workers.run.stop import Stop

#: The model or the way to it failed, or the device, or this host: no fault of the goal, another attempt may succeed.
_INFRASTRUCTURE: frozenset[str] = frozenset({
    ModelErrorCode.RATE_LIMITED,
    ModelErrorCode.TIMEOUT,
    ModelErrorCode.UNAVAILABLE,
    ModelErrorCode.AUTH,
    LogUnwritable.code,
    DEFECT,
    *ENDING_CODES,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run comes to, and why."""

    status: RunStatus
    cause: FailureCause | None = None
    reason: str | None = None


def interrupted(stop: Stop, where: str) -> Ending:
    """Cancelled or failed: the reason of the stop decides."""
    reason = f"{stop.reason}: stopped {where}"
    return Ending("cancelled", None, reason) if stop.is_cancellation else Ending("failed", "infrastructure", reason)


def ending_of(outcome: TurnOutcome, stop: Stop, *, step: int) -> Ending:
    """How the run ends, as far as the agent's word goes: a claim of success is `done`, until it was verified."""
    match outcome.kind:
        case "completed":
            return _claimed(outcome)
        case "aborted" | "disposed" | "dropped":
            return interrupted(stop, f"in step {step}")
        case "failed" if stop.is_asked:
            # Our own stop makes calls fail: what fails after it was asked for ends as the stop says.
            return interrupted(stop, f"in step {step}, which failed: {outcome.message} ({outcome.code})")
        case "failed":
            cause: FailureCause = "infrastructure" if outcome.code in _INFRASTRUCTURE else "task"
            return Ending("failed", cause, f"{outcome.message} ({outcome.code})")
        case "budget_exceeded":
            return Ending("failed", "task", f"the agent's budget ran out ({outcome.budget}): {outcome.message}")
        case "stuck":
            return Ending("failed", "task", f"the agent was stuck: {outcome.message}")


def _claimed(outcome: TurnOutcome) -> Ending:
    finish = outcome.finish
    if finish is None:
        return Ending("failed", "task", "the agent ended without saying whether the goal is reached")
    if finish.status != "success":
        return Ending("failed", "task", f"the agent gave up ({finish.status}): {finish.message}")
    return Ending("done")
