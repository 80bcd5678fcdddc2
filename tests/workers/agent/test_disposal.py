"""Disposal: it decides how a turn ends, and is reported when all has settled."""

import asyncio
import gc

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Deaf, Hang, Touch, answer, call, scripted_agent
from workers.agent.agent import Disposed, WaitsForItself
from workers.agent.cancellation import DISPOSED, PARENT, USER
from workers.agent.session.events import Aborted, TurnEnd
from workers.agent.session.session import Session

pytestmark = pytest.mark.anyio


def ends_of(agent):
    return [event.end for event in agent.session.events if isinstance(event, TurnEnd)]


async def test_disposal_interrupts_the_running_turn_and_drops_what_is_queued():
    hang = Hang("so far")
    agent, model = scripted_agent(hang)
    running, queued = agent.prompt("one"), agent.prompt("two")
    await hang.reached.wait()
    await agent.dispose()
    assert (agent.status, model.signals[0].reason) == ("disposed", DISPOSED)
    outcome = await running.outcome()
    assert (outcome.kind, outcome.reason) == ("disposed", DISPOSED)
    assert (await queued.outcome()).kind == "dropped"
    assert ends_of(agent) == [Aborted()]
    assert len(model.requests) == 1
    assert_balanced(agent.session.events)


@pytest.mark.parametrize("cause", [USER, PARENT])
async def test_disposal_decides_the_end_of_a_turn_that_was_cancelled_before_and_cannot_rewrite_its_reason(cause):
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    prompt = agent.prompt("go")
    await deaf.reached.wait()
    agent.cancel(cause)
    disposing = asyncio.create_task(agent.dispose())
    for _ in range(20):
        await asyncio.sleep(0)
    assert (disposing.done(), agent.status, agent.is_disposed) == (False, "running", True)
    deaf.may_end.set()
    await disposing
    outcome = await prompt.outcome()
    assert (outcome.kind, outcome.reason, model.signals[0].reason) == ("disposed", cause, cause)
    assert (agent.status, ends_of(agent)) == ("disposed", [Aborted()])


async def test_a_cancel_after_the_disposal_changes_nothing():
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    prompt = agent.prompt("go")
    await deaf.reached.wait()
    disposing = asyncio.create_task(agent.dispose())
    await asyncio.sleep(0)
    agent.cancel()
    deaf.may_end.set()
    await disposing
    agent.cancel()
    assert ((await prompt.outcome()).kind, model.signals[0].reason) == ("disposed", DISPOSED)


async def test_nothing_runs_after_the_disposal():
    agent, model = scripted_agent()
    await agent.dispose()
    for verb in (agent.prompt, agent.steer):
        with pytest.raises(Disposed):
            verb("go")
    await agent.when_idle()
    assert (agent.status, model.requests) == ("disposed", [])


async def test_an_idle_agent_is_disposed_of_at_once_and_its_listeners_are_told_once():
    agent, _ = scripted_agent()
    seen: list[str] = []
    agent.on_status(seen.append)
    await agent.dispose()
    await agent.dispose()
    assert seen == ["disposed"]


async def test_disposal_before_the_turn_begins_drops_the_prompt():
    agent, model = scripted_agent()
    prompt = agent.prompt("go")
    await agent.dispose()
    assert ((await prompt.outcome()).kind, model.requests, agent.status) == ("dropped", [], "disposed")


async def test_disposal_from_a_listener_of_running_drops_the_prompt():
    agent, model = scripted_agent()
    disposals = []
    agent.on_status(
        lambda status: disposals.append(asyncio.ensure_future(agent.dispose())) if status == "running" else None
    )
    agent.prompt("go")
    await agent.when_idle()
    await disposals[0]
    assert agent.status == "disposed"
    assert_balanced(agent.session.events)
    assert len(model.requests) <= 1


async def test_all_who_wait_for_the_disposal_return_when_it_is_done():
    deaf = Deaf()
    agent, _ = scripted_agent(answer("", call("deaf")), tools=[deaf])
    agent.prompt("go")
    await deaf.reached.wait()
    waiting = [asyncio.create_task(agent.dispose()) for _ in range(3)]
    waiting.append(asyncio.create_task(agent.when_idle()))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    deaf.may_end.set()
    await asyncio.gather(*waiting)
    assert agent.status == "disposed"


async def test_a_turn_that_asks_to_wait_for_its_own_agent_is_refused_and_the_disposal_goes_on():
    touch = Touch()
    refused = []

    async def waits_for_itself(_arguments, request):
        for wait in (request.agent.when_idle, request.agent.dispose):
            with pytest.raises(WaitsForItself):
                await wait()
            refused.append(wait.__name__)
        request.signal.check()

    touch.run = waits_for_itself
    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    prompt = agent.prompt("go")
    assert (await prompt.outcome()).kind == "disposed"
    await agent.when_idle()
    assert (refused, agent.status) == (["when_idle", "dispose"], "disposed")
    assert_balanced(agent.session.events)


async def test_a_disposal_that_comes_when_the_turn_has_its_end_leaves_the_end_as_it_was():
    agent, _ = scripted_agent()

    async def dispose(agent, _place, _signal):
        with pytest.raises(WaitsForItself):
            await agent.dispose()

    agent.hooks.turn_end.add(dispose)
    running, queued = agent.prompt("go"), agent.prompt("more")
    assert (await running.outcome()).kind == "completed"
    assert (await queued.outcome()).kind == "dropped"
    await agent.when_idle()
    assert agent.status == "disposed"


async def test_the_log_is_closed_with_the_agent(tmp_path):
    session = Session(tmp_path / "log.jsonl")
    agent, _ = scripted_agent(session=session)
    await agent.prompt("go").outcome()
    await agent.dispose()
    assert session._file is None
    gc.collect()


async def test_the_end_of_the_event_loop_leaves_no_prompt_without_an_outcome():
    hang = Hang()
    agent, _ = scripted_agent(hang)
    running, queued = agent.prompt("one"), agent.prompt("two")
    await hang.reached.wait()
    driver = agent._driver
    assert driver is not None
    driver.cancel()
    await asyncio.gather(driver, return_exceptions=True)
    assert (await running.outcome()).kind == "disposed"
    assert (await queued.outcome()).kind == "dropped"
    await agent.when_idle()
