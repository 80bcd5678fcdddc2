"""A child agent in this process: made for one goal, and put away when it has ended."""

import json
from collections.abc import Sequence

from workers.agent.agent import Agent
from workers.agent.budget import Budget
from workers.agent.cancellation import PARENT
from workers.agent.hooks import Hooks
from workers.agent.outcome import TurnOutcome
from workers.agent.session.events import SessionEvent, TurnStart
from workers.agent.session.replay import without_open_calls
from workers.agent.session.session import Session
from workers.agent.subagents.request import SubagentRequest, SubagentResult
from workers.agent.system_prompt import SystemPrompt
from workers.agent.tools.tool import AnyTool, Finish
from workers.device.outcome import ENDING_CODES


async def run_child(
    parent: Agent, request: SubagentRequest, *, tools: Sequence[AnyTool], system_prompt: SystemPrompt, budget: Budget
) -> SubagentResult:
    """Runs a child to its end. What it used up is spent on `budget`, however it ended."""
    child = Agent(
        parent.model,
        tools=tools,
        system_prompt=system_prompt,
        session=_session(parent.session, request),
        # Who decides what may be done to the device decides it for children too; the rest is the parent's own.
        hooks=Hooks(approval=parent.hooks.approval),
        limits=request.limits,
        name=f"{parent.name}/{request.name}",
    )
    used: list[Budget] = []

    def note_budget(event: object) -> None:
        if isinstance(event, TurnStart) and child.turn is not None:
            used.append(child.turn.budget)

    child.on_event(note_budget)
    # Prompted first: a signal that has fired already drops the prompt again.
    prompt = child.prompt(request.goal)
    forget = request.signal.on_abort(lambda: child.cancel(PARENT))
    try:
        outcome = await prompt.outcome()
    finally:
        forget()
        await child.dispose()
        for spent in used:
            budget.spend(steps=spent.steps_used, tokens=spent.tokens_used)
    return _result(outcome, request.name, child.session.events)


def _session(parent: Session, request: SubagentRequest) -> Session:
    if request.mode == "fork":
        return parent.new_child(history=without_open_calls(parent.messages), forked_from=parent.session_id)
    return parent.new_child()


def _result(outcome: TurnOutcome, name: str, events: Sequence[SessionEvent]) -> SubagentResult:
    match outcome.kind:
        case "completed":
            return _claimed(outcome, name)
        case "aborted" | "disposed":
            said = f" Its last words: {outcome.text}" if outcome.text else ""
            return SubagentResult.aborted(f"Agent {name} was cancelled {_where(events)}.{said}")
        case "dropped":
            return SubagentResult.aborted(f"Agent {name} was cancelled before it began. Nothing of it happened.")
        case "failed":
            # A device that is lost is lost for the parent too.
            code = {"code": outcome.code} if outcome.code in ENDING_CODES else {}
            return SubagentResult.failed(f"Agent {name} failed ({outcome.code}): {outcome.message}.", **code)
        case "budget_exceeded":
            return SubagentResult.failed(f"Agent {name} ended without a result: {outcome.message}.")
        case "stuck":
            return SubagentResult.failed(f"Agent {name} was stuck: {outcome.message}.")


def _claimed(outcome: TurnOutcome, name: str) -> SubagentResult:
    finish = outcome.finish
    if finish is None:
        said = outcome.text or "nothing"
        return SubagentResult.failed(f"Agent {name} ended without saying what came of its goal. It said: {said}")
    words = f"Agent {name} says {finish.status}: {finish.message}{_output(finish)}"
    if finish.status == "success":
        return SubagentResult("done", words)
    return SubagentResult.failed(words)


def _output(finish: Finish) -> str:
    return f"\nIts output: {json.dumps(finish.output, ensure_ascii=False)}" if finish.output else ""


def _where(events: Sequence[SessionEvent]) -> str:
    step = max((event.step for event in events if event.event == "step/start"), default=0)
    return f"in its step {step}" if step else "before its first step"
