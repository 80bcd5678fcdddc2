"""How a goal and what came of it look to a person: what the agent says, and apart from it what was verified."""

import json

from pydantic import ValidationError

from corral.contract.goals import AgentView, GoalResult, GoalVerification
from corral.contract.tasks import TaskDetail, TaskKind


def goal_facts(task: TaskDetail) -> dict[str, str | None]:
    """All that `show` tells of a goal, by the words that stand before it; nothing for a flow."""
    if task.kind is not TaskKind.GOAL:
        return {}
    agent = task.agent or AgentView()
    result = _result(task)
    return {
        "goal": task.goal,
        "to be verified": task.verify,
        "flows to run": ", ".join(task.files),
        "model": "none, plays a script" if agent.script else (result and result.model) or agent.model,
        "secrets": ", ".join(agent.secrets),
        "budget": _budget(agent),
        **outcome(task),
        "turn ended": result and result.turn_end,
        "notes": "\n".join(result.notes) if result else None,
        "used": result and _used(result),
    }


def outcome(task: TaskDetail) -> dict[str, str | None]:
    """What the agent says, and what was verified."""
    result = _result(task) if task.kind is TaskKind.GOAL else None
    if result is None:
        return {}
    claim = result.claim
    return {
        "agent says": f"{claim.status}: {claim.message}" if claim else None,
        "output": json.dumps(claim.output, ensure_ascii=False) if claim and claim.output else None,
        "verified": _verified(result.verification) if result.verification else None,
    }


def _verified(verification: GoalVerification) -> str:
    word = {True: "yes", False: "no", None: "not known"}[verification.holds]
    reason = f" ({verification.reason})" if verification.reason else ""
    return f"{word}: {verification.condition}{reason}"


def _budget(agent: AgentView) -> str:
    return _steps(agent.max_steps) + (f", {agent.max_tokens:,} tokens" if agent.max_tokens else "")


def _used(result: GoalResult) -> str:
    used = result.usage
    return f"{_steps(result.steps)}, {used.input_tokens:,} tokens in, {used.output_tokens:,} out"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def _result(task: TaskDetail) -> GoalResult | None:
    """None where there is none, or none that this version can read; `--json` shows it as it is."""
    try:
        return GoalResult.model_validate(task.result) if task.result else None
    except ValidationError:
        return None
