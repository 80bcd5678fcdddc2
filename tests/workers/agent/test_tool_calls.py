"""The calls of an answer: known, right, approved, run in their order, and each with a result."""

import hashlib
from typing import ClassVar

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Broken, FinishTool, Touch, answer, call, scripted_agent
from workers.agent.agent import Agent
from workers.agent.hooks import Approval
from workers.agent.messages import ToolMessage, UserMessage
from workers.agent.session.events import Completed, ToolStart, TurnEnd
from workers.agent.session.session import Session
from workers.agent.tools.tool import Arguments, Finish, Tool, ToolOutcome

pytestmark = pytest.mark.anyio


class Place(Arguments):
    x_px: int
    y_px: int


class Point(Tool[Place]):
    name = "point"
    description = "Points at a place."
    arguments = Place
    pointed: ClassVar[list[tuple[int, int]]] = []

    async def run(self, arguments, _request):
        self.pointed.append((arguments.x_px, arguments.y_px))
        return ToolOutcome("done", f"pointed at {arguments.x_px}")


def results_of(agent: Agent) -> list[ToolMessage]:
    return [message for message in agent.session.messages if isinstance(message, ToolMessage)]


def codes_of(agent: Agent) -> list[tuple[str, str | None]]:
    return [(result.status, result.code) for result in results_of(agent)]


async def test_calls_run_in_their_order_and_the_model_reads_what_came_of_each():
    point = Point()
    point.pointed.clear()
    agent, model = scripted_agent(
        answer("", call("point", x_px=1, y_px=2), call("point", x_px=3, y_px=4)), answer("done"), tools=[point]
    )
    outcome = await agent.prompt("go").outcome()
    assert (outcome.text, point.pointed) == ("done", [(1, 2), (3, 4)])
    assert [message.text for message in model.requests[1].messages if isinstance(message, ToolMessage)] == [
        "pointed at 1",
        "pointed at 3",
    ]
    assert_balanced(agent.session.events)


async def test_the_model_is_told_of_each_tool_with_the_schema_of_its_arguments():
    agent, model = scripted_agent(tools=[Point()])
    await agent.prompt("go").outcome()
    (spec,) = model.requests[0].tools
    assert (spec.name, spec.description) == ("point", "Points at a place.")
    assert spec.parameters["required"] == ["x_px", "y_px"]
    assert spec.parameters["additionalProperties"] is False


async def test_a_call_of_an_unknown_tool_is_answered_with_those_that_there_are():
    agent, _ = scripted_agent(answer("", call("teleport")), tools=[Touch(), Point()])
    assert (await agent.prompt("go").outcome()).kind == "completed"
    (result,) = results_of(agent)
    assert (result.status, result.code) == ("failed", "unknown_tool")
    assert "'teleport'" in result.text
    assert "point, touch" in result.text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"x_px": 1}, "y_px"), ({"x_px": "left", "y_px": 1}, "x_px"), ({"x_px": 1, "y_px": 1, "z_px": 1}, "z_px")],
)
async def test_wrong_arguments_are_answered_with_what_is_wrong_and_nothing_runs(arguments, named):
    point = Point()
    point.pointed.clear()
    agent, _ = scripted_agent(answer("", call("point", **arguments)), tools=[point])
    await agent.prompt("go").outcome()
    (result,) = results_of(agent)
    assert (result.status, result.code, point.pointed) == ("failed", "invalid_arguments", [])
    assert named in result.text
    assert not any(isinstance(event, ToolStart) for event in agent.session.events)


async def test_a_refused_call_does_not_run_and_the_model_reads_the_reason():
    async def refuse(_agent, _place, _call, _signal, _go_on):
        return Approval(is_granted=False, reason="the user said no")

    touch = Touch()
    agent, _ = scripted_agent(answer("", call("touch")), tools=[touch])
    agent.hooks.approval.add(refuse)
    assert (await agent.prompt("go").outcome()).kind == "completed"
    (result,) = results_of(agent)
    assert (touch.times, result.status, result.code) == (0, "refused", "policy_denied")
    assert "the user said no" in result.text


async def test_a_call_that_changes_nothing_needs_no_approval():
    async def never(_agent, _place, _call, _signal, _go_on):
        raise AssertionError("asked for an approval")

    agent, _ = scripted_agent(answer("", call("finish")), tools=[FinishTool()])
    agent.hooks.approval.add(never)
    assert (await agent.prompt("go").outcome()).kind == "completed"


async def test_a_defect_in_the_approval_ends_the_turn_and_leaves_no_call_without_a_result(logged):
    async def fail(_agent, _place, _call, _signal, _go_on):
        raise ZeroDivisionError

    touch = Touch()
    agent, _ = scripted_agent(answer("", call("touch"), call("touch")), tools=[touch])
    agent.hooks.approval.add(fail)
    assert (await agent.prompt("go").outcome()).code == "defect"
    assert codes_of(agent) == [("aborted_before_dispatch", "aborted_before_dispatch")] * 2
    assert touch.times == 0
    assert_balanced(agent.session.events)


async def test_a_defect_of_a_tool_ends_the_turn_after_its_result_is_in_the_log(logged):
    touch = Touch()
    agent, model = scripted_agent(answer("", call("broken"), call("touch")), tools=[Broken(), touch])
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "defect")
    assert codes_of(agent) == [
        ("failed", "tool_defect"),
        ("aborted_before_dispatch", "aborted_before_dispatch"),
    ]
    assert "its defect" not in "".join(event.model_dump_json() for event in agent.session.events)
    assert (touch.times, len(model.requests)) == (0, 1)
    assert_balanced(agent.session.events)


async def test_what_a_tool_did_is_kept_when_a_listener_has_a_defect_after_it(logged):
    async def fails(_agent, _place, call, _signal, go_on):
        await go_on(call)
        raise ZeroDivisionError

    agent, _ = scripted_agent(answer("", call("touch")), tools=[Touch()])
    agent.hooks.tool.add(fails)
    assert (await agent.prompt("go").outcome()).code == "defect"
    assert codes_of(agent) == [("done", None)]


@pytest.mark.parametrize("code", ["device_offline", "transport_lost", "lease_lost"])
async def test_a_lost_device_ends_the_turn_by_its_own_code(code):
    touch = Touch(ToolOutcome("unknown", "the phone is gone", code))
    agent, model = scripted_agent(answer("", call("touch"), call("touch")), tools=[touch])
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code, outcome.message) == ("failed", code, "the phone is gone")
    assert (touch.times, len(model.requests)) == (1, 1)
    assert codes_of(agent) == [("unknown", code), ("aborted_before_dispatch", "aborted_before_dispatch")]
    assert_balanced(agent.session.events)


async def test_an_action_that_failed_goes_back_to_the_model_and_the_turn_goes_on():
    touch = Touch(ToolOutcome("failed", "nothing there", "not_found"))
    agent, model = scripted_agent(answer("", call("touch")), answer("I give up"), tools=[touch])
    assert (await agent.prompt("go").outcome()).text == "I give up"
    assert (codes_of(agent), len(model.requests)) == ([("failed", "not_found")], 2)


async def test_a_finish_ends_the_turn_and_calls_after_it_do_not_run():
    touch = Touch()
    agent, model = scripted_agent(
        answer("so", call("finish", message="sent"), call("touch"), call("finish", message="again")),
        tools=[FinishTool(), touch],
    )
    outcome = await agent.prompt("go").outcome()
    claim = Finish("success", "sent", {"sum": 3})
    assert (outcome.kind, outcome.finish, outcome.text) == ("completed", claim, "so")
    assert (touch.times, len(model.requests)) == (0, 1)
    assert codes_of(agent) == [("done", None), ("refused", "turn_ended"), ("refused", "turn_ended")]
    (end,) = [event.end for event in agent.session.events if isinstance(event, TurnEnd)]
    assert end == Completed(finish={"status": "success", "message": "sent", "output": {"sum": 3}})
    assert_balanced(agent.session.events)


async def test_the_hint_of_a_listener_is_read_in_the_next_step():
    async def hints(_agent, place, result, _signal, go_on):
        result = await go_on(result)
        return type(result)(result.message, result.results, result.usage, hint="look up" if place.step == 1 else None)

    agent, model = scripted_agent(answer("", call("touch")), tools=[Touch()])
    agent.hooks.step_result.add(hints)
    await agent.prompt("go").outcome()
    assert model.requests[1].messages[-1] == UserMessage(text="look up", source="loop")


async def test_a_listener_may_have_the_turn_go_on_or_stop():
    async def once_more(_agent, _place, decision, _signal, _go_on):
        return type(decision)(len(model.requests) < 3, decision.last)

    async def with_words(_agent, _place, stop, _signal, _go_on):
        return type(stop)(stop.last, "check your work" if len(model.requests) == 3 else None)

    agent, model = scripted_agent()
    agent.hooks.continuation.add(once_more)
    agent.hooks.turn_stop.add(with_words)
    assert (await agent.prompt("go").outcome()).kind == "completed"
    assert len(model.requests) == 4
    assert model.requests[3].messages[-1] == UserMessage(text="check your work", source="loop")


async def test_a_listener_may_limit_what_is_asked_for():
    async def fewer(_agent, _place, config, _signal, go_on):
        return type(config)(config.tools[:1], max_output_tokens=10)

    agent, model = scripted_agent(tools=[Touch(), Point()])
    agent.hooks.request.add(fewer)
    await agent.prompt("go").outcome()
    assert ([spec.name for spec in model.requests[0].tools], model.requests[0].max_output_tokens) == (["touch"], 10)


async def test_pictures_are_kept_by_their_content_and_the_latest_are_shown(tmp_path):
    pictures = [b"one", b"two", b"three"]

    class Look(Touch):
        async def run(self, _arguments, _request):
            content = pictures[self.times]
            self.times += 1
            return ToolOutcome("done", "looked", images={hashlib.sha256(content).hexdigest(): content})

    session = Session(tmp_path / "log.jsonl")
    agent, model = scripted_agent(
        *(answer("", call("touch")) for _ in pictures), answer("seen"), tools=[Look()], session=session
    )
    await agent.prompt("go").outcome()
    await agent.dispose()
    names = [hashlib.sha256(content).hexdigest() for content in pictures]
    assert [sorted(request.images.values()) for request in model.requests] == [
        [],
        [b"one"],
        [b"one", b"two"],
        [b"three", b"two"],
    ]
    assert [image.sha256 for result in results_of(agent) for image in result.images] == names
    assert {path.name for path in (tmp_path / "log.images").iterdir()} == {f"{name}.png" for name in names}


async def test_a_picture_that_cannot_be_kept_ends_the_turn_and_the_call_has_its_result(tmp_path):
    touch = Touch(ToolOutcome("done", "looked", images={"x": b"picture"}))
    session = Session(tmp_path / "log.jsonl")
    (tmp_path / "log.images").write_text("a file in the way")
    agent, _ = scripted_agent(answer("", call("touch"), call("touch")), tools=[touch], session=session)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "log_unwritable")
    assert codes_of(agent) == [("done", None), ("aborted_before_dispatch", "aborted_before_dispatch")]
    assert touch.times == 1
    assert_balanced(agent.session.events)
    await agent.dispose()


async def test_calls_that_share_an_id_each_get_their_own_result():
    same = call("touch")
    agent, _ = scripted_agent(answer("", same, same), answer("", same), tools=[touch := Touch()])
    assert (await agent.prompt("go").outcome()).kind == "completed"
    assert (touch.times, len(results_of(agent))) == (3, 3)


async def test_a_model_that_gives_no_answer_is_never_a_success():
    agent, _ = scripted_agent(answer())
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "llm_empty")
    assert_balanced(agent.session.events)
