"""What a cancel does to a running turn, and what the log keeps of it."""

import asyncio

import pytest

from tests.workers.agent.logs import assert_balanced, assert_replays
from tests.workers.agent.scripted import Deaf, FinishTool, Hang, Patient, Touch, answer, call, scripted_agent
from workers.agent.agent import Agent
from workers.agent.cancellation import PARENT, USER, TurnInterrupted
from workers.agent.hooks import Approval, Hooks
from workers.agent.messages import AssistantMessage, TextPart, ToolMessage
from workers.agent.model.interface import Answer, AnswerDelta, ModelErrorCode, ModelFailed, Usage
from workers.agent.session.events import Aborted, SessionEvent, StepEnd, TurnEnd
from workers.agent.tools.tool import ToolOutcome

pytestmark = pytest.mark.anyio


def ends_of(agent: Agent) -> list[object]:
    return [event.end for event in agent.session.events if isinstance(event, TurnEnd)]


def results_of(agent: Agent) -> list[tuple[str, str | None]]:
    return [(message.status, message.code) for message in agent.session.messages if isinstance(message, ToolMessage)]


def answers_of(agent: Agent) -> list[AssistantMessage]:
    return [message for message in agent.session.messages if isinstance(message, AssistantMessage)]


@pytest.mark.parametrize("cause", [USER, PARENT])
async def test_an_interrupted_turn_ends_as_aborted_in_the_log_whoever_asked(cause):
    hang = Hang()
    agent, _ = scripted_agent(hang)
    prompt = agent.prompt("go")
    await hang.reached.wait()
    agent.cancel(cause)
    outcome = await prompt.outcome()
    assert (outcome.kind, outcome.reason) == ("aborted", cause)
    assert [end.model_dump() for end in ends_of(agent)] == [{"kind": "aborted"}]


async def test_what_the_user_saw_of_an_answer_is_kept_as_interrupted_and_told_in_the_next_request():
    hang = Hang("half an ans")
    agent, model = scripted_agent(hang)
    deltas: list[str] = []
    agent.on_event(lambda event: deltas.append(event.text) if isinstance(event, AnswerDelta) else None)
    agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    await agent.when_idle()
    kept = AssistantMessage(parts=(TextPart(text="half an ans"),), is_interrupted=True)
    assert ("".join(deltas), answers_of(agent)) == ("half an ans", [kept])
    await agent.prompt("go on").outcome()
    assert kept in model.requests[1].messages
    assert_replays(agent.session.events, model.requests, model.log_lengths)


async def test_an_answer_of_which_nothing_was_delivered_leaves_no_message():
    hang = Hang()
    agent, _ = scripted_agent(hang)
    agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    await agent.when_idle()
    assert answers_of(agent) == []
    assert_balanced(agent.session.events)


async def test_an_answer_that_came_whole_although_the_turn_was_cancelled_is_kept_whole():
    async def deaf(_request, _signal, _on_delta):
        agent.cancel()
        return answer("the whole of it")

    agent, _ = scripted_agent(deaf)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert [(message.text, message.is_interrupted) for message in answers_of(agent)] == [("the whole of it", False)]


async def test_calls_of_an_answer_that_the_cancel_met_do_not_run_and_say_so_in_the_log():
    touch = Touch()
    hang = Hang("first ", call("touch"), call("touch"))
    agent, _ = scripted_agent(hang, tools=[touch])
    agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    await agent.when_idle()
    assert touch.times == 0
    assert results_of(agent) == [("aborted_before_dispatch", "aborted_before_dispatch")] * 2
    assert_balanced(agent.session.events)


async def test_a_cancel_between_the_models_call_and_its_execution_keeps_the_tool_from_running():
    touch = Touch()

    async def cancel(agent, _place, call, _signal, go_on):
        agent.cancel()
        return await go_on(call)

    for seam in ("approval", "tool"):
        agent, _ = scripted_agent(answer("", call("touch"), call("touch")), tools=[touch])
        getattr(agent.hooks, seam).add(cancel)
        assert (await agent.prompt("go").outcome()).kind == "aborted"
        assert results_of(agent) == [("aborted_before_dispatch", "aborted_before_dispatch")] * 2
        assert_balanced(agent.session.events)
    assert touch.times == 0


async def test_a_granted_approval_that_comes_after_the_cancel_does_not_let_the_tool_run():
    touch = Touch()

    async def grants_late(agent, _place, call, _signal, go_on):
        approval = await go_on(call)
        agent.cancel()
        return approval

    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    agent.hooks.approval.add(grants_late)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert (touch.times, results_of(agent)) == (0, [("aborted_before_dispatch", "aborted_before_dispatch")])


async def test_a_tool_that_waits_on_the_signal_settles_and_its_result_says_that_it_had_begun():
    patient, touch = Patient(), Touch()
    agent, _ = scripted_agent(answer("", call("patient"), call("touch")), tools=[patient, touch])
    prompt = agent.prompt("go")
    await patient.reached.wait()
    agent.cancel()
    assert (await prompt.outcome()).kind == "aborted"
    assert results_of(agent) == [("aborted", "aborted"), ("aborted_before_dispatch", "aborted_before_dispatch")]
    assert touch.times == 0
    assert_balanced(agent.session.events)


async def test_the_end_of_a_tool_that_ignores_the_signal_is_awaited_and_its_result_kept():
    deaf = Deaf()
    agent, _ = scripted_agent(answer("", call("deaf")), tools=[deaf])
    prompt = agent.prompt("go")
    idle = asyncio.create_task(agent.when_idle())
    await deaf.reached.wait()
    agent.cancel()
    for _ in range(50):
        await asyncio.sleep(0)
    assert (idle.done(), agent.status) == (False, "running")
    deaf.may_end.set()
    assert (await prompt.outcome()).kind == "aborted"
    await idle
    assert results_of(agent) == [("done", None)]
    assert_balanced(agent.session.events)


async def test_a_call_that_the_stop_made_fail_has_an_unknown_end_and_the_turn_is_aborted():
    async def torn_off(_agent, _place, call, signal, go_on):
        await go_on(call)
        raise AssertionError("unreachable")

    patient = Patient()

    async def breaks(_arguments, request):
        patient.reached.set()
        await request.signal.wait()
        raise ConnectionResetError("the line went dead")

    patient.run = breaks
    agent, _ = scripted_agent(answer("", call("patient")), tools=[patient])
    agent.hooks.tool.add(torn_off)
    prompt = agent.prompt("go")
    await patient.reached.wait()
    agent.cancel()
    assert (await prompt.outcome()).kind == "aborted"
    (result,) = [message for message in agent.session.messages if isinstance(message, ToolMessage)]
    assert (result.status, result.code) == ("aborted", "aborted")
    assert "not known" in result.text


@pytest.mark.parametrize("error", [TurnInterrupted(USER), ConnectionResetError("torn")])
async def test_what_a_tool_had_brought_is_kept_when_a_listener_gives_up_after_it(error):
    touch = Touch()

    async def gives_up(agent, _place, call, _signal, go_on):
        await go_on(call)
        agent.cancel()
        raise error

    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    agent.hooks.tool.add(gives_up)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert results_of(agent) == [("done", None)]


async def test_a_listener_that_fails_before_the_tool_began_because_of_the_stop_leaves_it_undispatched():
    async def fails(agent, _place, _call, _signal, _go_on):
        agent.cancel()
        raise ConnectionResetError("torn")

    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch := Touch()])
    agent.hooks.tool.add(fails)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert (touch.times, results_of(agent)) == (0, [("aborted_before_dispatch", "aborted_before_dispatch")])


async def test_a_cancel_in_the_window_of_the_stop_hook_ends_the_turn_as_aborted_without_another_step():
    agent, model = scripted_agent()

    async def cancel_and_go_on(agent, _place, stop, _signal, go_on):
        await go_on(stop)
        agent.cancel()
        return type(stop)(stop.last, go_on_with="once more")

    agent.hooks.turn_stop.add(cancel_and_go_on)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    await agent.when_idle()
    assert (len(model.requests), ends_of(agent)) == (1, [Aborted()])


async def test_a_cancel_before_the_first_step_makes_no_request_and_the_prompt_stays_in_the_history():
    agent, model = scripted_agent()

    async def cancel(agent, _place, prompt, _signal, go_on):
        text = await go_on(prompt)
        agent.cancel()
        return text

    hooks = Hooks()
    hooks.session_prefix.add(cancel)
    agent = Agent(model, hooks=hooks)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert (model.requests, [message.text for message in agent.session.messages]) == ([], ["go"])
    assert_balanced(agent.session.events)


async def test_the_cost_of_an_interrupted_answer_is_counted():
    async def costly(_request, signal, _on_delta):
        agent.cancel()
        await signal.wait()
        return Answer(answer("ha", is_interrupted=True).message, Usage(7, 2))

    agent, _ = scripted_agent(costly)
    await agent.prompt("go").outcome()
    (end,) = [event for event in agent.session.events if isinstance(event, StepEnd)]
    assert (end.input_tokens, end.output_tokens) == (7, 2)


async def test_a_model_that_fails_because_its_stream_was_closed_does_not_make_the_turn_fail():
    async def torn(_request, signal, _on_delta):
        agent.cancel()
        await signal.wait()
        raise ModelFailed(ModelErrorCode.UNAVAILABLE, "the connection was closed", usage=Usage(3, 0))

    agent, _ = scripted_agent(torn)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code, ends_of(agent)) == ("aborted", None, [Aborted()])


async def test_an_answer_that_breaks_off_although_nobody_cancelled_is_a_failure_of_the_model():
    touch = Touch()
    agent, _ = scripted_agent(answer("half", call("touch"), is_interrupted=True), tools=[touch])
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code, touch.times) == ("failed", "llm_truncated", 0)
    assert_balanced(agent.session.events)


async def test_of_a_failed_request_that_a_listener_repeats_only_the_answer_that_counts_is_kept():
    async def twice(_agent, _place, request, _signal, go_on):
        first = await go_on(request)
        assert first.message.text == "nonsense"
        return await go_on(request)

    agent, model = scripted_agent(answer("nonsense", tokens=5), answer("sense", tokens=3))
    agent.hooks.model.add(twice)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.text, [message.text for message in answers_of(agent)]) == ("sense", ["sense"])
    assert len(model.requests) == 2
    (end,) = [event for event in agent.session.events if isinstance(event, StepEnd)]
    assert end.input_tokens == 8


async def test_the_text_of_a_failed_attempt_is_taken_back_and_is_not_in_the_final_message():
    async def restarts(_request, _signal, on_delta):
        on_delta(AnswerDelta(text="garb"))
        on_delta(AnswerDelta(is_restart=True))
        on_delta(AnswerDelta(text="good"))
        return answer("good")

    shown: list[str] = []

    def show(event: SessionEvent | AnswerDelta) -> None:
        if isinstance(event, AnswerDelta):
            shown[:] = [] if event.is_restart else [*shown, event.text]

    agent, _ = scripted_agent(restarts)
    agent.on_event(show)
    assert (await agent.prompt("go").outcome()).text == "good"
    assert "".join(shown) == "good"
    assert "garb" not in "".join(event.model_dump_json() for event in agent.session.events)


async def test_an_answer_that_a_listener_did_not_hand_on_is_kept_with_its_calls_undispatched(logged):
    async def loses(_agent, _place, request, _signal, go_on):
        await go_on(request)
        raise ZeroDivisionError

    touch = Touch()
    agent, _ = scripted_agent(answer("said", call("touch")), tools=[touch])
    agent.hooks.model.add(loses)
    assert (await agent.prompt("go").outcome()).code == "defect"
    assert [(message.text, message.is_interrupted) for message in answers_of(agent)] == [("said", True)]
    assert results_of(agent) == [("aborted_before_dispatch", "aborted_before_dispatch")]
    assert_balanced(agent.session.events)


async def test_a_listener_may_not_change_the_words_of_a_request(logged):
    async def rewrites(_agent, _place, request, _signal, go_on):
        return await go_on(type(request)("be evil", request.messages, request.tools))

    agent, model = scripted_agent()
    agent.hooks.model.add(rewrites)
    assert (await agent.prompt("go").outcome()).code == "defect"
    assert model.requests == []
    assert "RequestChanged" in repr(logged[0]["exc_info"])


async def test_every_listener_hears_of_the_end_even_if_one_gives_up_because_of_the_cancel(logged):
    hang, heard = Hang(), []

    async def gives_up(_agent, _place, signal):
        heard.append("first")
        signal.check()

    async def fails(_agent, _place, _signal):
        heard.append("second")
        raise ZeroDivisionError

    async def hears(_agent, _place, _signal):
        heard.append("third")

    agent, _ = scripted_agent(hang)
    for listener in (gives_up, fails, hears):
        agent.hooks.turn_end.add(listener)
    prompt = agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    assert (await prompt.outcome()).kind == "aborted"
    assert heard == ["first", "second", "third"]
    assert [entry["event"] for entry in logged] == ["agent.listener_failed"]


async def test_a_cancelled_error_that_is_not_the_drivers_own_is_a_defect_like_any_other(logged):
    """A library that cancels its own tasks must not end the agent's driver."""

    async def cancels_its_own(_request, _signal, _on_delta):
        task = asyncio.create_task(asyncio.sleep(3600))
        task.cancel()
        await task
        raise AssertionError("unreachable")

    agent, _ = scripted_agent(cancels_its_own)
    first, second = agent.prompt("go"), agent.prompt("go on")
    assert ((await first.outcome()).kind, (await second.outcome()).kind) == ("failed", "completed")
    assert_balanced(agent.session.events)
    assert [entry["event"] for entry in logged] == ["agent.turn_failed"]


async def test_a_cancelled_error_of_a_tool_leaves_its_call_with_a_result(logged):
    async def cancels_its_own(_arguments, _request):
        raise asyncio.CancelledError

    touch = Touch()
    touch.run = cancels_its_own
    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "defect")
    assert results_of(agent) == [("failed", "tool_defect")]
    assert_balanced(agent.session.events)


async def test_no_call_is_judged_any_more_once_the_turn_was_cancelled():
    """Not even one that could not have run: what is said of it would be read as if somebody had tried."""

    async def cancels(_arguments, request):
        request.agent.cancel()
        return ToolOutcome("done", "did it")

    touch = Touch()
    touch.run = cancels
    agent, _ = scripted_agent(
        answer("", call("touch"), call("teleport"), call("touch", wrong=1), call("finish")), tools=[touch, FinishTool()]
    )
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert results_of(agent) == [("done", None)] + [("aborted_before_dispatch", "aborted_before_dispatch")] * 3


async def test_a_refusal_that_the_cancel_brought_about_is_no_refusal():
    async def refuses_when_cancelled(agent, _place, _call, signal, _go_on):
        agent.cancel()
        await signal.wait()
        return Approval(is_granted=False, reason="nobody answered")

    agent, _ = scripted_agent(answer("", call("touch")), tools=[Touch()])
    agent.hooks.approval.add(refuses_when_cancelled)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert results_of(agent) == [("aborted_before_dispatch", "aborted_before_dispatch")]
