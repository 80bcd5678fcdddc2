"""Whose code runs: concurrent and nested agents, and what a cancel of the one does to the other."""

import asyncio
import contextvars

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Hang, Nothing, Touch, answer, call, scripted_agent
from tests.workers.agent.seams import SEAMS, Seams
from workers.agent.agent import Agent
from workers.agent.cancellation import PARENT, USER, CancelSignal, agent_interrupt_reason_of
from workers.agent.identity import current_agent
from workers.agent.session.events import Aborted, TurnEnd
from workers.agent.tools.tool import Tool, ToolOutcome, ToolRequest

pytestmark = pytest.mark.anyio


class Delegate(Tool[Nothing]):
    """Has another agent do it, under the signal that came with the request."""

    name = "delegate"
    description = "Has another agent do it."
    arguments = Nothing

    def __init__(self, child: Agent) -> None:
        self.child = child
        self.identities: list[Agent | None] = []

    async def run(self, _arguments: Nothing, request: ToolRequest) -> ToolOutcome:
        self.identities.append(current_agent())
        take_away = request.signal.on_abort(lambda: self.child.cancel(PARENT))
        outcome = await self.child.prompt("sub-goal").outcome()
        take_away()
        self.identities.append(current_agent())
        await self.child.dispose()
        return ToolOutcome("done", outcome.kind)


def nested(child: Agent) -> tuple[Agent, Delegate]:
    delegate = Delegate(child)
    agent, _ = scripted_agent(answer("", call("delegate")), answer("so"), tools=[delegate], name="parent")
    return agent, delegate


def ends_of(agent: Agent) -> list[object]:
    return [event.end for event in agent.session.events if isinstance(event, TurnEnd)]


async def test_outside_of_any_agent_there_is_no_identity():
    assert current_agent() is None
    agent, _ = scripted_agent()
    await agent.prompt("go").outcome()
    assert current_agent() is None


async def test_two_agents_at_once_have_their_own_identities_and_signals_at_every_seam():
    async def give_way(_seam: str, _signal: CancelSignal) -> None:
        await asyncio.sleep(0)

    seams = [Seams(give_way) for _ in range(3)]
    agents = [each.agent() for each in seams]
    outcomes = await asyncio.gather(*(agent.prompt("touch it").outcome() for agent in agents))
    assert [outcome.kind for outcome in outcomes] == ["completed"] * 3
    signals = set[CancelSignal]()
    for agent, each in zip(agents, seams, strict=True):
        assert set(each.seen) == set(SEAMS)
        assert {identity for _, _, identity in each.visits} == {agent}
        (signal,) = set(each.signals)
        signals.add(signal)
    assert len(signals) == 3


async def test_a_cancel_of_one_agent_leaves_the_other_alone():
    hangs = [Hang(), Hang()]
    (first, _), (second, model) = [scripted_agent(hang) for hang in hangs]
    prompts = [first.prompt("go"), second.prompt("go")]
    for hang in hangs:
        await hang.reached.wait()
    first.cancel()
    assert (await prompts[0].outcome()).kind == "aborted"
    assert not model.signals[0].is_aborted
    assert second.status == "running"
    await second.dispose()


async def test_a_childs_identity_shadows_the_parents_and_only_that():
    async def look_round(_seam: str, _signal: CancelSignal) -> None:
        return None

    seams = Seams(look_round)
    child = seams.agent(name="child")
    parent, delegate = nested(child)
    assert (await parent.prompt("go").outcome()).text == "so"
    assert {identity for _, _, identity in seams.visits} == {child}
    assert delegate.identities == [parent, parent]


async def test_a_cancel_of_the_parent_reaches_the_child_through_the_request_with_the_parent_as_its_cause():
    hang = Hang("half")
    child, child_model = scripted_agent(hang, name="child")
    parent, _ = nested(child)
    prompt = parent.prompt("go")
    await hang.reached.wait()
    parent_signal = parent.turn.signal
    parent.cancel()
    outcome = await prompt.outcome()
    assert (outcome.kind, outcome.reason) == ("aborted", USER)
    assert agent_interrupt_reason_of(child_model.signals[0]) is PARENT
    assert agent_interrupt_reason_of(parent_signal) is USER
    assert child_model.signals[0] is not parent_signal
    assert (ends_of(parent), ends_of(child)) == ([Aborted()], [Aborted()])
    for agent in (parent, child):
        assert_balanced(agent.session.events)
    assert child.status == "disposed"


async def test_a_disposal_of_the_parent_reaches_the_child_with_the_parent_as_its_cause():
    hang = Hang()
    child, child_model = scripted_agent(hang, name="child")
    parent, _ = nested(child)
    prompt = parent.prompt("go")
    await hang.reached.wait()
    await parent.dispose()
    assert (await prompt.outcome()).kind == "disposed"
    assert (child_model.signals[0].reason, child.status) == (PARENT, "disposed")
    assert (ends_of(parent), ends_of(child)) == ([Aborted()], [Aborted()])


async def test_a_cancel_of_the_child_does_not_reach_the_parent():
    hang = Hang()
    child, _ = scripted_agent(hang, name="child")
    parent, _ = nested(child)
    prompt = parent.prompt("go")
    await hang.reached.wait()
    child.cancel()
    assert (await prompt.outcome()).text == "so"
    assert ends_of(child) == [Aborted()]


async def test_a_child_that_ignores_its_cancel_keeps_the_parent_from_being_idle():
    may_end, reached = asyncio.Event(), asyncio.Event()

    async def deaf(_request, _signal, _on_delta):
        reached.set()
        await may_end.wait()
        return answer("late")

    child, _ = scripted_agent(deaf, name="child")
    parent, _ = nested(child)
    parent.prompt("go")
    await reached.wait()
    parent.cancel()
    idle = asyncio.create_task(parent.when_idle())
    for _ in range(30):
        await asyncio.sleep(0)
    assert (idle.done(), parent.status, child.status) == (False, "running", "running")
    may_end.set()
    await idle
    assert (parent.status, child.status) == ("idle", "disposed")


async def test_what_outlives_a_turn_has_the_agent_for_its_identity_and_no_right_over_anything():
    """Work that a listener left behind still belongs to the agent, and holds neither turn nor signal."""
    go_on = asyncio.Event()
    left_behind: list[asyncio.Task[tuple[Agent | None, list[object]]]] = []

    async def outlives() -> tuple[Agent | None, list[object]]:
        await go_on.wait()
        return current_agent(), list(contextvars.copy_context().values())

    async def leaves(_agent, _place, value, _signal, next_listener):
        left_behind.append(asyncio.create_task(outlives()))
        return await next_listener(value)

    hang = Hang()
    agent, model = scripted_agent(answer("one"), hang)
    agent.hooks.prompt_submission.add(leaves)
    await agent.prompt("one").outcome()
    agent.prompt("two")
    await hang.reached.wait()
    go_on.set()
    identity, values = await left_behind[0]
    assert identity is agent
    assert not any(isinstance(value, CancelSignal) for value in values)
    assert [value for value in values if isinstance(value, Agent)] == [agent]
    assert not model.signals[1].is_aborted
    await agent.dispose()
    await left_behind[1]


async def test_an_agent_made_and_prompted_inside_of_another_keeps_its_identity_for_later_prompts():
    seen: list[Agent | None] = []

    async def look(_request, _signal, _on_delta):
        seen.append(current_agent())
        return answer("ok")

    child, _ = scripted_agent(look, look, name="child")
    touch = Touch()

    async def prompts_the_child(_arguments, _request):
        await child.prompt("from inside").outcome()
        return ToolOutcome("done", "ok")

    touch.run = prompts_the_child
    parent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    await parent.prompt("go").outcome()
    await child.prompt("from outside").outcome()
    assert seen == [child, child]
