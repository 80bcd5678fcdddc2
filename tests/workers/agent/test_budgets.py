"""Limits of a turn: each ends it by its own name, between two steps."""

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Touch, answer, call, scripted_agent
from workers.agent.agent import Agent
from workers.agent.budget import Budget, BudgetKind, BudgetSpent, Limits
from workers.agent.model.interface import ModelErrorCode, ModelFailed, Usage
from workers.agent.session.events import BudgetExceeded, Failed, StepEnd, TurnEnd

pytestmark = pytest.mark.anyio


class Hand:
    """A clock whose hand the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def steps_without_end(touch: Touch, **keywords):
    async def goes_on(_request, _signal, _on_delta):
        return answer("", call("touch"), tokens=10)

    return scripted_agent(*[goes_on] * 20, tools=[touch], **keywords)


def ends_of(agent: Agent) -> list[object]:
    return [event.end for event in agent.session.events if isinstance(event, TurnEnd)]


async def test_a_turn_that_used_up_its_steps_ends_so():
    touch = Touch()
    agent, model = steps_without_end(touch, limits=Limits(steps=3))
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.budget, len(model.requests), touch.times) == (
        "budget_exceeded",
        BudgetKind.STEPS,
        3,
        3,
    )
    (end,) = ends_of(agent)
    assert end == BudgetExceeded(budget=BudgetKind.STEPS, message="its 3 steps were used up")
    assert_balanced(agent.session.events)


async def test_a_turn_that_used_up_its_tokens_ends_so_after_the_step_that_did():
    agent, model = steps_without_end(Touch(), limits=Limits(tokens=25))
    outcome = await agent.prompt("go").outcome()
    assert (outcome.budget, len(model.requests)) == (BudgetKind.TOKENS, 3)
    assert outcome.message == "its 25 tokens were used up (30)"
    assert [event.input_tokens for event in agent.session.events if isinstance(event, StepEnd)] == [10, 10, 10]


async def test_a_turn_whose_wall_time_is_over_ends_so_before_the_next_step():
    touch = Touch()
    agent, model = steps_without_end(touch, limits=Limits(wall_seconds=60))
    hand = Hand()

    async def later(agent, place, _signal):
        if place.step == 1:
            agent.turn.budget = Budget(agent.limits, clock=hand)
        hand.now += 25

    agent.hooks.pre_step.add(later)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.budget, outcome.message, len(model.requests)) == (BudgetKind.WALL_TIME, "its 60 s were over", 3)


async def test_a_model_that_ran_out_of_the_turns_time_ends_the_turn_by_the_name_of_the_budget():
    hand = Hand()

    async def times_out(request, _signal, _on_delta):
        assert request.deadline_at == pytest.approx(1060.0)
        hand.now += 61
        raise ModelFailed(ModelErrorCode.TIMEOUT, "no answer in time", usage=Usage(5, 0))

    agent, _ = scripted_agent(times_out, limits=Limits(wall_seconds=60))

    async def with_our_clock(agent, _place, _signal):
        agent.turn.budget = Budget(agent.limits, clock=hand)

    agent.hooks.pre_step.add(with_our_clock)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.budget) == ("budget_exceeded", BudgetKind.WALL_TIME)
    (spent,) = [event.input_tokens for event in agent.session.events if isinstance(event, StepEnd)]
    assert spent == 5


@pytest.mark.parametrize("code", list(ModelErrorCode))
async def test_a_model_that_failed_in_time_ends_the_turn_as_failed_by_its_own_code(code):
    agent, _ = scripted_agent(ModelFailed(code, "why"), limits=Limits(wall_seconds=60))
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code, outcome.message) == ("failed", code, "why")
    assert ends_of(agent) == [Failed(code=code, message="why")]
    assert_balanced(agent.session.events)


async def test_each_turn_has_limits_of_its_own():
    agent, _ = steps_without_end(Touch(), limits=Limits(steps=2))
    outcomes = [await agent.prompt("go").outcome() for _ in range(3)]
    assert [outcome.budget for outcome in outcomes] == [BudgetKind.STEPS] * 3


async def test_nothing_is_left_to_begin_with_when_a_limit_is_zero():
    for limits, kind in (
        (Limits(steps=0), BudgetKind.STEPS),
        (Limits(tokens=0), BudgetKind.TOKENS),
        (Limits(wall_seconds=0), BudgetKind.WALL_TIME),
    ):
        agent, model = scripted_agent(limits=limits)
        assert ((await agent.prompt("go").outcome()).budget, model.requests) == (kind, [])
        assert_balanced(agent.session.events)


async def test_a_cancel_wins_over_a_budget_that_is_used_up():
    agent, _ = steps_without_end(Touch(), limits=Limits(steps=1))

    async def cancel(agent, _place, decision, _signal, go_on):
        decided = await go_on(decision)
        agent.cancel()
        return decided

    agent.hooks.continuation.add(cancel)
    assert (await agent.prompt("go").outcome()).kind == "aborted"


async def test_what_is_left_of_a_budget_is_never_less_than_nothing():
    hand = Hand()
    budget = Budget(Limits(steps=2, wall_seconds=10, tokens=100), clock=hand)
    assert budget.deadline_at == 1010.0
    budget.spend(steps=1, tokens=30)
    hand.now += 4
    assert budget.left == Limits(steps=1, wall_seconds=6, tokens=70)
    budget.check()
    budget.spend(steps=4, tokens=300)
    hand.now += 40
    assert budget.left == Limits(steps=0, wall_seconds=0, tokens=0)
    with pytest.raises(BudgetSpent) as spent:
        budget.check()
    assert spent.value.kind is BudgetKind.WALL_TIME


async def test_without_limits_nothing_ever_runs_out():
    budget = Budget(Limits())
    budget.spend(steps=10**6, tokens=10**9)
    budget.check()
    assert (budget.left, budget.deadline_at) == (Limits(), None)
