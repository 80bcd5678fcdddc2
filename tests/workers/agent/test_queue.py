"""Prompts in line, steering, and what a cancel drops of them."""

import asyncio

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Deaf, FinishTool, Hang, Touch, answer, call, scripted_agent, texts_told
from workers.agent.agent import Agent
from workers.agent.cancellation import PARENT
from workers.agent.messages import UserMessage
from workers.agent.model.interface import ModelErrorCode, ModelFailed
from workers.agent.session.events import TurnEnd, TurnStart

pytestmark = pytest.mark.anyio


def turns_of(agent: Agent) -> int:
    return sum(isinstance(event, TurnStart) for event in agent.session.events)


def steering_of(agent: Agent) -> list[str]:
    return [
        message.text
        for message in agent.session.messages
        if isinstance(message, UserMessage) and message.source == "steering"
    ]


async def test_prompts_run_one_after_the_other_in_their_order():
    agent, model = scripted_agent(answer("1"), answer("2"), answer("3"))
    prompts = [agent.prompt(text) for text in ("a", "b", "c")]
    outcomes = [await prompt.outcome() for prompt in prompts]
    assert [(outcome.kind, outcome.text) for outcome in outcomes] == [
        ("completed", "1"),
        ("completed", "2"),
        ("completed", "3"),
    ]
    assert [texts_told(request) for request in model.requests] == [["a"], ["a", "b"], ["a", "b", "c"]]
    await agent.when_idle()
    assert agent.status == "idle"
    assert_balanced(agent.session.events)


async def test_a_cancel_while_idle_with_nothing_queued_has_no_effect_on_the_next_prompt():
    agent, model = scripted_agent()
    agent.cancel()
    agent.cancel(PARENT)
    await agent.when_idle()
    assert (await agent.prompt("go").outcome()).kind == "completed"
    assert not model.signals[0].is_aborted


async def test_a_prompt_cancelled_before_its_turn_begins_is_dropped_and_idle_is_reached():
    agent, model = scripted_agent()
    prompt = agent.prompt("go")
    waiter = asyncio.create_task(agent.when_idle())
    agent.cancel()
    outcome = await prompt.outcome()
    await waiter
    assert (outcome.kind, outcome.reason, agent.status) == ("dropped", None, "idle")
    assert (model.requests, turns_of(agent)) == ([], 0)


async def test_a_cancel_before_the_turn_begins_does_not_arm_itself_for_the_prompt_after_it():
    agent, model = scripted_agent()
    dropped = agent.prompt("old")
    agent.cancel()
    kept = agent.prompt("replacement")
    assert (await kept.outcome()).kind == "completed"
    assert (await dropped.outcome()).kind == "dropped"
    assert [texts_told(request) for request in model.requests] == [["replacement"]]


async def test_a_cancel_in_the_middle_of_a_step_ends_the_turn_and_drops_what_is_queued():
    hang = Hang()
    agent, model = scripted_agent(hang)
    running, queued = agent.prompt("one"), agent.prompt("two")
    await hang.reached.wait()
    agent.cancel()
    assert (await running.outcome()).kind == "aborted"
    assert (await queued.outcome()).kind == "dropped"
    await agent.when_idle()
    assert (len(model.requests), turns_of(agent)) == (1, 1)
    assert_balanced(agent.session.events)


async def test_a_prompt_after_a_cancelled_turn_has_settled_runs_under_a_fresh_signal():
    hang = Hang()
    agent, model = scripted_agent(hang)
    agent.prompt("one")
    await hang.reached.wait()
    agent.cancel()
    await agent.when_idle()
    assert (await agent.prompt("two").outcome()).kind == "completed"
    first, second = model.signals
    assert second is not first
    assert (first.is_aborted, second.is_aborted) == (True, False)


async def test_a_prompt_between_the_cancel_and_idle_runs_by_itself_once_the_turn_has_settled():
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    running = agent.prompt("one")
    await deaf.reached.wait()
    agent.cancel()
    later = agent.prompt("two")
    assert len(model.requests) == 1
    deaf.may_end.set()
    assert (await running.outcome()).kind == "aborted"
    assert (await later.outcome()).kind == "completed"
    assert model.signals[0] is not model.signals[1]


async def test_later_cancels_of_a_turn_drop_what_was_queued_since_and_keep_the_first_cause():
    deaf = Deaf()
    agent, _ = scripted_agent(answer("", call("deaf")), tools=[deaf])
    running = agent.prompt("one")
    await deaf.reached.wait()
    agent.cancel(PARENT)
    queued_since = agent.prompt("two")
    agent.cancel()
    kept = agent.prompt("three")
    deaf.may_end.set()
    assert (await running.outcome()).reason == PARENT
    assert (await queued_since.outcome()).kind == "dropped"
    assert (await kept.outcome()).kind == "completed"


async def test_a_listener_of_running_that_cancels_and_prompts_has_its_replacement_run_under_a_fresh_holder():
    agent, model = scripted_agent()
    prompts = []

    def replace(status: str) -> None:
        if status == "running" and not prompts:
            agent.cancel()
            prompts.append(agent.prompt("replacement"))

    agent.on_status(replace)
    old = agent.prompt("old")
    assert (await old.outcome()).kind == "dropped"
    assert (await prompts[0].outcome()).kind == "completed"
    assert [texts_told(request) for request in model.requests] == [["replacement"]]
    assert not model.signals[0].is_aborted
    await agent.when_idle()
    assert agent.status == "idle"


async def test_a_listener_of_running_that_only_cancels_leaves_the_agent_idle():
    agent, model = scripted_agent()
    seen: list[str] = []

    def stop(status: str) -> None:
        seen.append(status)
        if status == "running":
            agent.cancel()

    agent.on_status(stop)
    prompt = agent.prompt("old")
    await agent.when_idle()
    assert (await prompt.outcome()).kind == "dropped"
    assert (seen, model.requests, turns_of(agent)) == (["running", "idle"], [], 0)


async def test_a_prompt_from_a_listener_of_the_signal_is_a_replacement_and_stays():
    hang = Hang()
    agent, model = scripted_agent(hang)
    agent.prompt("old")
    await hang.reached.wait()
    replacements = []
    model.signals[0].on_abort(lambda: replacements.append(agent.prompt("replacement")))
    agent.cancel()
    assert (await replacements[0].outcome()).kind == "completed"


async def test_a_prompt_from_a_listener_of_idle_runs_and_those_who_wait_for_idle_wait_on():
    agent, model = scripted_agent()

    def ask_once_more(status: str) -> None:
        if status == "idle" and len(model.requests) == 1:
            agent.prompt("more")

    agent.on_status(ask_once_more)
    agent.prompt("go")
    await agent.when_idle()
    assert len(model.requests) == 2


async def test_steering_is_read_before_the_next_step():
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    prompt = agent.prompt("go")
    await deaf.reached.wait()
    agent.steer("to the left")
    deaf.may_end.set()
    assert (await prompt.outcome()).kind == "completed"
    assert texts_told(model.requests[1]) == ["go", "to the left"]
    assert (steering_of(agent), turns_of(agent)) == (["to the left"], 1)


async def test_steering_into_the_last_step_brings_another_step():
    async def steered(_request, _signal, _on_delta):
        agent.steer("wait, there is more")
        return answer("I am done")

    stops: list[int] = []

    async def counts(_agent, place, stop, _signal, go_on):
        stops.append(place.step)
        return await go_on(stop)

    agent, model = scripted_agent(steered, answer("now I am"))
    agent.hooks.turn_stop.add(counts)
    assert (await agent.prompt("go").outcome()).text == "now I am"
    assert texts_told(model.requests[1]) == ["go", "wait, there is more"]
    assert (turns_of(agent), stops) == (1, [2])


async def test_steering_in_the_window_of_the_turn_stop_brings_another_step():
    agent, model = scripted_agent()

    async def steer_once(agent, _place, stop, _signal, go_on):
        if len(model.requests) == 1:
            agent.steer("one thing more")
        return await go_on(stop)

    agent.hooks.turn_stop.add(steer_once)
    assert (await agent.prompt("go").outcome()).kind == "completed"
    assert texts_told(model.requests[1]) == ["go", "one thing more"]
    assert turns_of(agent) == 1


async def test_steering_without_a_turn_is_a_prompt():
    agent, model = scripted_agent()
    agent.steer("go")
    await agent.when_idle()
    assert [texts_told(request) for request in model.requests] == [["go"]]
    assert turns_of(agent) == 1


async def test_steering_after_the_end_of_the_turn_is_a_prompt():
    agent, _ = scripted_agent()

    async def steer_once(agent, place, _signal):
        if place.turn == 1:
            agent.steer("too late for that one")

    agent.hooks.turn_end.add(steer_once)
    await agent.prompt("go").outcome()
    await agent.when_idle()
    assert (steering_of(agent), turns_of(agent)) == ([], 2)


async def test_steering_of_a_cancelled_turn_is_dropped_and_never_becomes_a_turn_of_its_own():
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    prompt = agent.prompt("go")
    await deaf.reached.wait()
    agent.steer("to the left")
    agent.cancel()
    deaf.may_end.set()
    assert (await prompt.outcome()).kind == "aborted"
    await agent.when_idle()
    assert (len(model.requests), turns_of(agent), steering_of(agent)) == (1, 1, [])
    await agent.prompt("next").outcome()
    assert texts_told(model.requests[1]) == ["go", "next"]


async def test_steering_after_the_cancel_is_a_prompt_that_runs():
    deaf = Deaf()
    agent, model = scripted_agent(answer("", call("deaf")), tools=[deaf])
    agent.prompt("go")
    await deaf.reached.wait()
    agent.cancel()
    agent.steer("something else")
    deaf.may_end.set()
    await agent.when_idle()
    assert (turns_of(agent), texts_told(model.requests[1])) == (2, ["go", "something else"])


@pytest.mark.parametrize(
    "last",
    [ModelFailed(ModelErrorCode.AUTH, "no"), answer("", call("finish"))],
    ids=["which failed", "which was finished"],
)
async def test_steering_that_a_turn_did_not_come_to_read_is_the_next_prompt(last):
    async def steered(_request, _signal, _on_delta):
        agent.steer("but look at this")
        if isinstance(last, Exception):
            raise last
        return last

    agent, model = scripted_agent(steered, tools=[FinishTool()])
    first = agent.prompt("go")
    second = agent.prompt("and then")
    await first.outcome()
    await second.outcome()
    await agent.when_idle()
    assert [texts_told(request)[-1] for request in model.requests] == ["go", "but look at this", "and then"]
    assert (turns_of(agent), steering_of(agent)) == (3, [])


async def test_the_outcome_can_be_asked_for_often_and_giving_up_waiting_takes_it_from_nobody():
    hang = Hang()
    agent, _ = scripted_agent(hang)
    prompt = agent.prompt("go")
    impatient = asyncio.create_task(prompt.outcome())
    await hang.reached.wait()
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    agent.cancel()
    assert await prompt.outcome() is await prompt.outcome()


async def test_an_outcome_is_there_once_its_turn_has_its_end_in_the_log():
    touch = Touch()
    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    prompt = agent.prompt("go")
    seen = []
    agent.on_event(lambda event: seen.append(prompt._outcome.done()) if isinstance(event, TurnEnd) else None)
    await prompt.outcome()
    assert seen == [False]
    assert touch.times == 1


async def test_a_broken_listener_does_not_disturb_the_turn(logged):
    agent, _ = scripted_agent()
    agent.on_status(lambda _status: 1 / 0)
    agent.on_event(lambda _event: 1 / 0)
    assert (await agent.prompt("go").outcome()).kind == "completed"
    await agent.when_idle()
    assert {entry["event"] for entry in logged} == {"agent.listener_failed"}
