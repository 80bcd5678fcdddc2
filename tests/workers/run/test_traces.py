import pytest

from corral.contract.identifiers import uuid7
from corral.traces.ids import root_of
from corral.traces.spans import span
from tests.trace_collector import recorded_spans
from tests.workers.run.far_side import FarDevice, StopSwitch, run
from tests.workers.run.test_goals import FINISH, TAP, TAPS, Pursuit, answer
from workers.agent.model.interface import ModelErrorCode, ModelFailed
from workers.device.outcome import ErrorCode, Failed
from workers.run.stop import CANCELLATION_REASON

pytestmark = pytest.mark.anyio

SECRET = "hunter2-in-a-goal"
TYPED = {"input_text": {"text": SECRET}}


async def test_requests_and_tools_of_an_agent_and_of_its_children_are_spans_without_what_was_said(tmp_path):
    spawn = {"spawn_agent": {"goal": SECRET, "name": "child"}}
    pursuit = Pursuit(tmp_path, answer(TYPED, text=SECRET), answer(spawn), answer(FINISH), answer(FINISH))
    task_id = uuid7()
    with recorded_spans() as spans, span("attempt", task_id):
        assert (await pursuit.end()).status == "done"
    told = [one for one in spans if one.name != "attempt"]
    assert [one.name for one in told] == [
        *("model request", "tool input_text", "model request", "model request", "tool finish", "tool spawn_agent"),
        *("model request", "tool finish"),
    ]
    first = told[0].attributes
    assert (first["agent"], first["step"], first["input_tokens"], first["output_tokens"]) == ("agent", 1, 10, 1)
    assert told[3].attributes["agent"] == "agent/child"
    assert told[3].parent == told[5].place
    assert {one.place.trace_id for one in spans} == {root_of(task_id).trace_id}
    assert SECRET not in repr(spans)


async def test_what_a_model_or_a_tool_fails_with_is_told_by_its_code(tmp_path):
    device = FarDevice(outcomes=[Failed(ErrorCode.COMMAND_FAILED, SECRET)])
    broken = ModelFailed(ModelErrorCode.REFUSED, SECRET)
    pursuit = Pursuit(tmp_path, answer(TAP), broken, device=device)
    with recorded_spans() as spans, span("attempt", uuid7()):
        await pursuit.end()
    failed = [(one.name, one.failure) for one in spans if one.failure]
    assert ("model request", "llm_refused") in failed
    assert SECRET not in repr(spans)


async def test_a_step_that_a_stop_cuts_short_has_not_failed():
    switch = StopSwitch(CANCELLATION_REASON)
    device = FarDevice()
    device.on_look = switch.press
    with recorded_spans() as spans, span("attempt", uuid7()):
        ended = await run("- retry: {maxRetries: 1, commands: [assertVisible: Nowhere]}", device, switch=switch)
    assert ended.status == "cancelled"
    assert [(one.name, one.failure, one.attributes.get("ended_by")) for one in spans] == [
        ("step assertVisible", None, "stop"),
        ("step retry", None, "stop"),
        ("attempt", None, None),
    ]


async def test_steps_of_a_flow_that_an_agent_runs_stand_below_its_tool(tmp_path):
    flow = TAPS.replace("times: 50", "times: 2")
    pursuit = Pursuit(tmp_path, answer({"run_flow": {"path": "taps"}}), answer(FINISH), flows={"taps": flow})
    with recorded_spans() as spans, span("attempt", uuid7()):
        await pursuit.end()
    by_name = {one.name: one for one in spans}
    assert by_name["step repeat"].parent == by_name["tool run_flow"].place
    assert by_name["step tapOn"].parent == by_name["step repeat"].place
