import asyncio
import random
from dataclasses import FrozenInstanceError, replace

import pytest

from tests.workers.agent.running import RACE_TIMES, running_tasks
from tests.workers.agent.subagents.scripts import (
    Moves,
    TapTool,
    call,
    calls,
    finish,
    hang,
    last_end,
    parent_of,
    results,
    say,
)
from workers.agent.budget import BudgetKind, Limits
from workers.agent.cancellation import DISPOSED, PARENT, USER
from workers.agent.hooks import Approval, Hooks
from workers.agent.identity import current_agent
from workers.agent.messages import AssistantMessage, TextPart, UserMessage
from workers.agent.model.interface import ModelErrorCode, ModelFailed
from workers.agent.session.reading import read_session
from workers.agent.session.session import Session
from workers.agent.subagents.request import SubagentResult
from workers.agent.tools.tool import ToolOutcome
from workers.device.outcome import ErrorCode

SPAWN = call("spawn_agent", goal="Open the settings.")
FORK = call("spawn_agent", goal="Open the settings.", mode="fork")


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


pytestmark = pytest.mark.anyio


async def run(agent, text="Do it."):
    async with asyncio.timeout(20):
        try:
            return await agent.prompt(text).outcome()
        finally:
            await agent.dispose()


def result_of_spawn(agent):
    return next(m for m in agent.session.messages if m.role == "tool" and m.tool == "spawn_agent")


async def test_what_a_child_finishes_with_goes_back_to_its_parent():
    model = Moves(agent=[SPAWN, finish()], agent__child=[call("tap"), finish(message="They are open.", page=3)])
    tap = TapTool()
    parent = parent_of(model, tap=tap)
    outcome = await run(parent)
    assert outcome.kind == "completed"
    assert results(parent)[0] == ("spawn_agent", "done", None)
    assert "They are open." in result_of_spawn(parent).text
    assert '{"page": 3}' in result_of_spawn(parent).text
    assert tap.taps == [("agent/child", "OK")]


@pytest.mark.parametrize("status", ["failure", "infeasible"])
async def test_a_child_that_gives_up_is_a_failed_call_with_its_words(status):
    model = Moves(agent=[SPAWN, finish()], agent__child=[finish(status, "There is no such page.")])
    parent = parent_of(model)
    await run(parent)
    assert results(parent)[0] == ("spawn_agent", "failed", "subagent_failed")
    assert "There is no such page." in result_of_spawn(parent).text


async def test_a_child_that_only_talks_has_not_said_what_came_of_its_goal():
    parent = parent_of(Moves(agent=[SPAWN, finish()], agent__child=[say("Well.")]))
    await run(parent)
    assert results(parent)[0] == ("spawn_agent", "failed", "subagent_failed")
    assert "Well." in result_of_spawn(parent).text


async def test_a_child_whose_model_fails_says_so():
    async def refuse(_request, _signal):
        raise ModelFailed(ModelErrorCode.REFUSED, "not with me")

    parent = parent_of(Moves(agent=[SPAWN, finish()], agent__child=[refuse]))
    await run(parent)
    assert results(parent)[0] == ("spawn_agent", "failed", "subagent_failed")
    assert "llm_refused" in result_of_spawn(parent).text


async def test_a_child_that_is_stuck_says_so():
    tap = TapTool()
    tap.outcome = ToolOutcome("done", "Tapped.", repeat_key="tap OK")
    parent = parent_of(Moves(agent=[SPAWN, finish()], agent__child=[call("tap")] * 9), tap=tap)
    await run(parent)
    assert len(tap.taps) == 5
    assert results(parent)[0] == ("spawn_agent", "failed", "subagent_failed")
    assert "stuck" in result_of_spawn(parent).text


async def test_a_device_that_a_child_has_lost_is_lost_for_its_parent():
    tap = TapTool()
    tap.outcome = ToolOutcome("failed", "gone", ErrorCode.DEVICE_OFFLINE)
    parent = parent_of(Moves(agent=[SPAWN], agent__child=[call("tap")]), tap=tap)
    outcome = await run(parent)
    assert (outcome.kind, outcome.code) == ("failed", ErrorCode.DEVICE_OFFLINE)


async def test_a_parents_cancel_reaches_its_child_as_parent_and_both_logs_end_in_the_coarse_aborted():
    model = Moves(agent=[SPAWN], agent__child=[call("tap"), hang])
    parent = parent_of(model)
    prompt = parent.prompt("Do it.")
    await model.until_asked_by("agent/child", times=2)
    child, signal = model.agents["agent/child"], model.signals["agent/child"]
    parent.cancel()
    outcome = await prompt.outcome()
    assert (outcome.kind, outcome.reason) == ("aborted", USER)
    assert signal.reason == PARENT
    assert child.status == "disposed"
    assert last_end(parent) == last_end(child) == {"kind": "aborted"}
    assert results(parent) == [("spawn_agent", "aborted", "aborted")]
    assert "in its step 2" in result_of_spawn(parent).text
    await parent.dispose()


async def test_a_parent_that_is_disposed_of_cancels_its_child_as_parent():
    model = Moves(agent=[SPAWN], agent__child=[hang])
    parent = parent_of(model)
    prompt = parent.prompt("Do it.")
    await model.until_asked_by("agent/child")
    await parent.dispose()
    outcome = await prompt.outcome()
    assert (outcome.kind, outcome.reason) == ("disposed", DISPOSED)
    assert model.signals["agent/child"].reason == PARENT
    assert model.agents["agent/child"].status == "disposed"
    assert last_end(parent) == last_end(model.agents["agent/child"]) == {"kind": "aborted"}


async def test_a_parent_is_not_idle_before_a_child_that_ignores_the_signal_has_settled():
    let_go = asyncio.Event()

    async def ignore(_request, _signal):
        await let_go.wait()
        return say("Late.")

    model = Moves(agent=[SPAWN], agent__child=[ignore])
    parent = parent_of(model)
    parent.prompt("Do it.")
    await model.until_asked_by("agent/child")
    parent.cancel()
    idle = asyncio.create_task(parent.when_idle())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not idle.done()
    assert parent.status == "running"
    let_go.set()
    await idle
    assert model.agents["agent/child"].status == "disposed"
    await parent.dispose()


async def test_a_parent_goes_on_after_a_cancelled_child_and_its_next_child_has_a_fresh_signal():
    model = Moves(agent=[SPAWN, SPAWN, finish()], agent__child=[hang, finish()])
    parent = parent_of(model)
    parent.prompt("Do it.")
    await model.until_asked_by("agent/child")
    first = model.signals["agent/child"]
    parent.cancel()
    await parent.when_idle()
    outcome = await run(parent, "Again.")
    assert outcome.kind == "completed"
    assert model.signals["agent/child"] is not first
    assert not model.signals["agent/child"].is_aborted


async def test_no_callback_on_the_parents_signal_is_left_when_a_child_has_ended():
    model = Moves(agent=[SPAWN, finish()], agent__child=[finish()])
    parent = parent_of(model)
    await run(parent)
    assert model.signals["agent"]._callbacks == {}


async def test_a_child_shadows_the_identity_of_its_parent_and_nothing_else():
    seen = {}

    async def look(request):
        seen[request.agent.name] = (current_agent() is request.agent, request.signal)

    model = Moves(
        agent=[calls(("tap", {}), ("spawn_agent", {"goal": "Tap."}), ("tap", {})), finish()],
        agent__child=[call("tap"), finish()],
    )
    tap = TapTool()
    tap.before = look
    parent = parent_of(model, tap=tap)
    asked = []

    async def listen(agent, place, request, signal, after):
        asked.append((agent, place.turn, place.step, request, signal))
        return await after(request)

    parent.hooks.subagent.add(listen)
    await run(parent)
    assert [name for name, _ in tap.taps] == ["agent", "agent/child", "agent"]
    assert seen["agent"][0]
    assert seen["agent/child"][0]
    assert seen["agent"][1] is not seen["agent/child"][1]
    [(agent, turn, step, request, signal)] = asked
    assert (agent, turn, step) == (parent, 1, 1)
    assert request.signal is signal is seen["agent"][1]
    assert current_agent() is None


async def test_the_request_is_frozen_and_a_hook_may_change_its_goal_or_answer_itself():
    model = Moves(agent=[SPAWN, SPAWN, finish()], agent__child=[finish()])
    parent = parent_of(model)
    answers = [None, SubagentResult("done", "Answered by a hook.")]

    async def listen(_agent, _place, request, _signal, after):
        with pytest.raises(FrozenInstanceError):
            request.goal = "Else."
        return answers.pop(0) or await after(replace(request, goal="Close the settings."))

    parent.hooks.subagent.add(listen)
    await run(parent)
    [request] = model.requests["agent/child"]
    assert request.messages[-1].text == "Close the settings."
    assert parent.session.messages[-3].text == "Answered by a hook."


async def test_a_hook_that_waits_on_the_signal_lets_no_child_begin():
    model = Moves(agent=[SPAWN])
    parent = parent_of(model)
    waiting = asyncio.Event()

    async def listen(_agent, _place, request, signal, after):
        waiting.set()
        await signal.wait()
        return await after(request)

    parent.hooks.subagent.add(listen)
    prompt = parent.prompt("Do it.")
    await waiting.wait()
    parent.cancel()
    assert (await prompt.outcome()).kind == "aborted"
    assert list(model.requests) == ["agent"]
    await parent.dispose()


async def test_agents_at_once_are_isolated_and_a_cancel_of_one_reaches_its_child_alone():
    model = Moves(
        left=[call("spawn_agent", goal="L")],
        left__child=[hang],
        right=[call("spawn_agent", goal="R"), finish()],
        right__child=[hang_until_released := _Released(), finish()],
    )
    left, right = parent_of(model, name="left"), parent_of(model, name="right")
    prompts = left.prompt("Do it."), right.prompt("Do it.")
    await model.until_asked_by("left/child")
    await model.until_asked_by("right/child")
    left.cancel()
    assert (await prompts[0].outcome()).kind == "aborted"
    assert not model.signals["right/child"].is_aborted
    hang_until_released.event.set()
    assert (await prompts[1].outcome()).kind == "completed"
    assert model.requests["left/child"][0].messages == (UserMessage(text="L"),)
    assert model.requests["right/child"][0].messages == (UserMessage(text="R"),)
    await left.dispose()
    await right.dispose()


class _Released:
    def __init__(self):
        self.event = asyncio.Event()

    async def __call__(self, _request, _signal):
        await self.event.wait()
        return call("tap")


async def test_what_a_child_uses_up_is_spent_on_its_parents_budget():
    model = Moves(agent=[SPAWN, *[call("tap")] * 9], agent__child=[call("tap"), call("tap"), finish()])
    parent = parent_of(model, limits=Limits(steps=6))
    outcome = await run(parent)
    assert (outcome.kind, outcome.budget) == ("budget_exceeded", BudgetKind.STEPS)
    assert len(model.requests["agent"]) == 3


async def test_a_cancelled_child_is_paid_for_too():
    model = Moves(agent=[SPAWN], agent__child=[call("tap"), hang])
    parent = parent_of(model)
    prompt = parent.prompt("Do it.")
    await model.until_asked_by("agent/child", times=2)
    budget = parent.turn.budget
    parent.cancel()
    await prompt.outcome()
    assert (budget.steps_used, budget.tokens_used) == (3, 30)
    await parent.dispose()


async def test_a_child_may_use_what_is_left_and_no_more():
    model = Moves(agent=[SPAWN, finish()], agent__child=[call("tap")] * 9)
    parent = parent_of(model, limits=Limits(tokens=40, wall_seconds=60))
    limits = []

    async def listen(_agent, _place, request, _signal, after):
        limits.append(request.limits)
        return await after(request)

    parent.hooks.subagent.add(listen)
    outcome = await run(parent)
    assert limits[0].tokens == 30
    assert 59 < limits[0].wall_seconds <= 60
    assert len(model.requests["agent/child"]) == 3
    assert "30 tokens were used up" in result_of_spawn(parent).text
    assert (outcome.kind, outcome.budget) == ("budget_exceeded", BudgetKind.TOKENS)


async def test_a_child_has_no_children_unless_more_levels_are_allowed():
    model = Moves(
        agent=[SPAWN, finish()],
        agent__child=[SPAWN, finish()],
        agent__child__child=[call("tap"), call("spawn_agent", goal="Deeper."), finish()],
    )
    parent = parent_of(model, depth=2)
    await run(parent)
    assert [spec.name for spec in model.requests["agent"][0].tools] == ["tap", "finish", "spawn_agent"]
    assert [spec.name for spec in model.requests["agent/child"][0].tools] == ["tap", "finish", "spawn_agent"]
    assert [spec.name for spec in model.requests["agent/child/child"][0].tools] == ["tap", "finish"]
    assert results(model.agents["agent/child/child"])[1] == ("spawn_agent", "failed", "unknown_tool")


async def test_what_a_grandchild_uses_up_is_spent_on_all_above():
    model = Moves(
        agent=[SPAWN, finish()],
        agent__child=[SPAWN, finish()],
        agent__child__child=[call("tap"), finish()],
    )
    parent = parent_of(model, depth=2)
    budgets = []

    async def note(agent, _place, _signal):
        budgets.append(agent.turn.budget)

    parent.hooks.turn_end.add(note)
    await run(parent)
    assert (budgets[0].steps_used, budgets[0].tokens_used) == (6, 60)


async def test_a_cancel_goes_down_through_two_levels():
    model = Moves(agent=[SPAWN], agent__child=[SPAWN], agent__child__child=[hang])
    parent = parent_of(model, depth=2)
    prompt = parent.prompt("Do it.")
    await model.until_asked_by("agent/child/child")
    parent.cancel()
    await prompt.outcome()
    assert model.signals["agent/child"].reason == model.signals["agent/child/child"].reason == PARENT
    assert last_end(model.agents["agent/child/child"]) == {"kind": "aborted"}
    await parent.dispose()


async def test_a_fork_sees_its_parents_history_and_not_the_open_call():
    model = Moves(agent=[call("tap"), FORK, finish()], agent__child=[finish()])
    parent = parent_of(model)
    await run(parent, "Do the whole thing.")
    [request] = model.requests["agent/child"]
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.messages[0].text == "Do the whole thing."
    assert request.messages[-1].text == "Open the settings."


async def test_a_spawned_child_sees_its_goal_alone():
    model = Moves(agent=[call("tap"), SPAWN, finish()], agent__child=[finish()])
    await run(parent_of(model))
    [request] = model.requests["agent/child"]
    assert request.messages == (UserMessage(text="Open the settings."),)


async def test_the_logs_of_children_lie_beside_their_parents_and_name_it(tmp_path):
    model = Moves(agent=[SPAWN, FORK, finish()], agent__child=[finish(message="I saw hunter2."), finish()])
    session = Session(tmp_path / "goal.jsonl", redact=lambda text: text.replace("hunter2", "[secret]"))
    await run(parent_of(model, session=session))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["goal-1.jsonl", "goal-2.jsonl", "goal.jsonl"]
    spawned, forked = (read_session(tmp_path / name) for name in ("goal-1.jsonl", "goal-2.jsonl"))
    assert (spawned[0].parent_session_id, spawned[0].forked_from) == (session.session_id, None)
    assert (forked[0].parent_session_id, forked[0].forked_from) == (session.session_id, session.session_id)
    assert "hunter2" not in "".join(path.read_text() for path in tmp_path.iterdir())


async def test_who_approves_the_parents_calls_approves_the_childs_and_no_other_hook_of_the_parent_is_asked():
    hooks, asked, submitted = Hooks(), [], []

    async def refuse(agent, _place, tool_call, _signal, _after):
        asked.append((agent.name, tool_call.tool))
        return Approval(is_granted=False, reason="not today")

    async def submit(agent, _place, text, _signal, after):
        submitted.append(agent.name)
        return await after(text)

    hooks.approval.add(refuse)
    hooks.prompt_submission.add(submit)
    model = Moves(agent=[SPAWN, finish()], agent__child=[call("tap"), finish()])
    tap = TapTool()
    await run(parent_of(model, hooks=hooks, tap=tap))
    assert asked == [("agent/child", "tap")]
    assert tap.taps == []
    assert submitted == ["agent"]


@pytest.mark.parametrize("arguments", [{}, {"goal": ""}, {"goal": "x", "mode": "clone"}, {"goal": "x", "name": "../x"}])
async def test_wrong_arguments_start_nothing(arguments):
    model = Moves(agent=[call("spawn_agent", **arguments), finish()])
    parent = parent_of(model)
    await run(parent)
    assert results(parent)[0] == ("spawn_agent", "failed", "invalid_arguments")


async def _with_yields(_request, signal, *, chance, move):
    for _ in range(chance.randrange(4)):
        await asyncio.sleep(0)
    if signal.is_aborted:
        return AssistantMessage(parts=(TextPart(text="…"),), is_interrupted=True)
    return move


@pytest.mark.parametrize("how", ["cancel", "dispose", "cancel, then dispose"])
async def test_a_cancel_at_any_moment_leaves_nothing_running_and_both_logs_balanced(how):
    ends, before = set(), running_tasks()
    for seed in range(RACE_TIMES):
        chance = random.Random(seed)  # noqa: S311  where it yields

        def yielding(move, chance=chance):
            return lambda request, signal: _with_yields(request, signal, chance=chance, move=move)

        model = Moves(
            agent=[yielding(SPAWN), yielding(FORK), yielding(finish())],
            agent__child=[yielding(call("tap")), yielding(finish()), yielding(call("tap")), yielding(finish())],
        )
        parent = parent_of(model)
        prompt = parent.prompt("Do it.")
        for _ in range(chance.randrange(60)):
            await asyncio.sleep(0)
        if "cancel" in how:
            parent.cancel()
        if "dispose" in how:
            await parent.dispose()
        outcome = await prompt.outcome()
        await parent.when_idle()
        ends.add(outcome.kind)
        child = model.agents.get("agent/child")
        if child is not None:
            assert child.status == "disposed"
            assert model.signals["agent/child"].reason in (None, PARENT)
        for agent in filter(None, (parent, child)):
            _assert_balanced(agent.session.events)
        assert running_tasks() == before
        await parent.dispose()
    assert ends >= {"aborted" if how == "cancel" else "disposed", "dropped"}


def _assert_balanced(events):
    names = [event.event for event in events]
    assert names.count("turn/start") == names.count("turn/end")
    assert names.count("step/start") == names.count("step/end")
    messages = [event.message for event in events if event.event in ("message", "seed")]
    called = [call.call_id for message in messages if message.role == "assistant" for call in message.calls]
    assert sorted(called) == sorted(message.call_id for message in messages if message.role == "tool")
