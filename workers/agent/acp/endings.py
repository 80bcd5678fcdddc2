"""How a turn ended, in the protocol's words."""

from typing import Literal

from acp import PromptResponse, RequestError

from workers.agent.budget import BudgetKind
from workers.agent.model.interface import ModelErrorCode
from workers.agent.outcome import TurnOutcome

_INTERNAL_ERROR = -32603
#: The protocol has no word for time that is over; it is the limit of a turn like the number of its requests.
_OF_BUDGET: dict[BudgetKind, Literal["max_turn_requests", "max_tokens"]] = {
    BudgetKind.STEPS: "max_turn_requests",
    BudgetKind.WALL_TIME: "max_turn_requests",
    BudgetKind.TOKENS: "max_tokens",
}


def last_words(outcome: TurnOutcome) -> str | None:
    """What the client is told at the end besides the stop reason, which cannot say it."""
    if outcome.finish is not None:
        claim = "" if outcome.finish.status == "success" else f"({outcome.finish.status}) "
        return f"\n\n{claim}{outcome.finish.message}"
    if outcome.kind == "budget_exceeded":
        return f"\n\n(The turn ended: {outcome.message}.)"
    return None


def response_to(outcome: TurnOutcome) -> PromptResponse:
    """The answer to the prompt.

    Raises:
        RequestError: the turn failed or was stuck. Its `data` has the code that says why.
    """
    match outcome.kind:
        case "completed":
            return PromptResponse(stop_reason="end_turn")
        case "aborted" | "dropped" | "disposed":
            return PromptResponse(stop_reason="cancelled")
        case "budget_exceeded":
            return PromptResponse(stop_reason=_OF_BUDGET[outcome.budget or BudgetKind.STEPS])
        case "failed" if outcome.code == ModelErrorCode.REFUSED:
            return PromptResponse(stop_reason="refusal")
        case "failed" | "stuck":
            raise RequestError(_INTERNAL_ERROR, outcome.message or "the turn failed", {"code": outcome.code})
