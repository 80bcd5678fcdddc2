"""Look whether what an agent claims is there."""

from collections.abc import Callable

from corral.contract.goals import GoalVerification
from corral.flow.condition import Condition
from workers.run.failure import StepFailed
from workers.run.goal_ending import Ending, interrupted
from workers.run.result import MAX_REASON_CHARACTERS
from workers.run.screen import Screen
from workers.run.stop import Interrupted
from workers.run.waits import unmet


async def verified(
    condition: Condition, screen: Screen, *, redact: Callable[[str], str]
) -> tuple[Ending, GoalVerification | None]:
    """How a run ends whose agent claims success, and what was found; None where the run was to stop meanwhile."""
    described = condition.describe()
    try:
        amiss = await unmet(condition, screen)
    except Interrupted:
        return interrupted(screen.stop, "while its result was verified"), None
    except StepFailed as failed:
        if screen.stop.is_asked:
            return interrupted(screen.stop, f"while its result was verified, which failed: {failed}"), None
        cause = "infrastructure" if failed.is_infrastructure else "task"
        ending = Ending("failed", cause, f"the agent claims success, and nobody can tell: {failed}")
        return ending, GoalVerification(condition=described, holds=None, reason=str(failed))
    if amiss is None:
        return Ending("done"), GoalVerification(condition=described, holds=True)
    ending = Ending("failed", "task", f"the agent claims success, but this does not hold: {described}")
    return ending, GoalVerification(condition=described, holds=False, reason=redact(amiss)[:MAX_REASON_CHARACTERS])
