"""A script in the place of a model."""

import asyncio
from dataclasses import replace

import pytest

from tests.workers.agent.model.conftest import REQUEST
from workers.agent.cancellation import USER, TurnCancellation
from workers.agent.messages import AssistantMessage, TextPart, ToolCall, ToolMessage, UserMessage
from workers.agent.model.interface import Answer, AnswerDelta, ModelErrorCode, ModelFailed, ModelRequest, Usage
from workers.agent.model.observed import last_observed
from workers.agent.model.script_planner import script_model
from workers.agent.model.scripted import ScriptedModel
from workers.clock import boot_seconds

pytestmark = pytest.mark.anyio

SCREEN = r"""observation_id: o-3 · 1080x1920 px · app org.example · keyboard hidden
[0] EditText id=name hint="Your name" editable @0,0,10,10
[1] Button "Save as \"x\" [9]" id=save_as clickable @0,0,10,10
[2] Button "Save" id="odd id" clickable @0,0,10,10
3 more elements are not listed; scroll, or name them by text or id."""


def observed(text: str = SCREEN, *, tool: str = "observe", status: str = "done") -> ToolMessage:
    return ToolMessage.model_validate({"call_id": "c", "tool": tool, "status": status, "text": text})


def request(*messages) -> ModelRequest:
    return ModelRequest(system="", messages=(UserMessage(text="Go."), *messages), tools=())


async def ask(model, asked=REQUEST, *, turn=None, heard=None) -> Answer:
    turn = turn or TurnCancellation()
    return await model.generate(asked, turn.signal, (heard if heard is not None else []).append)


async def test_each_request_plays_the_next_step():
    model = script_model("- say: I look.\n  calls: observe\n- calls:\n  - finish: {status: success, message: Done.}")
    heard: list[AnswerDelta] = []
    first = await ask(model, heard=heard)
    second = await ask(model)
    assert first.message.parts == (
        TextPart(text="I look."),
        ToolCall(call_id="call-1", tool="observe", arguments={}),
    )
    assert [delta.text for delta in heard] == ["I ", "look."]
    arguments = {"status": "success", "message": "Done."}
    assert second.message.parts == (ToolCall(call_id="call-2", tool="finish", arguments=arguments),)


async def test_a_script_that_ended_fails():
    model = script_model("- say: Hello.")
    await ask(model)
    with pytest.raises(ModelFailed, match="the script has no more steps") as failed:
        await ask(model)
    assert failed.value.code == ModelErrorCode.REJECTED


@pytest.mark.parametrize("code", ["unknown_tool", "invalid_arguments", "unknown_flow"])
async def test_a_script_that_ended_names_its_last_call_that_was_written_wrongly(code):
    model = script_model("- calls: obzerve")
    await ask(model)
    told = {"call_id": "c", "tool": "obzerve", "status": "failed", "text": "There is no tool 'obzerve'.", "code": code}
    with pytest.raises(ModelFailed, match=r"ends with `finish`\. .* `obzerve`: There is no tool"):
        await ask(model, request(ToolMessage.model_validate(told), observed()))


@pytest.mark.parametrize(
    ("text", "index"),
    [("Save", 2), ("name", 0), ("Your name", 0), ('Save as "x" [9]', 1), ("odd id", 2), ("save", 1), ("YOUR", 0)],
)
async def test_an_element_is_named_by_its_text(text, index):
    quoted = text.replace('"', '\\"')
    model = script_model(f'- calls:\n  - tap: {{index: "${{index:{quoted}}}", observation_id: "${{observation_id}}"}}')
    answer = await ask(model, request(observed('observation_id: o-2\n[0] Button "Save"'), observed()))
    assert answer.message.calls[0].arguments == {"index": index, "observation_id": "o-3"}


async def test_an_element_that_is_not_there_is_named():
    model = script_model('- say: a\n- say: b\n  calls:\n  - tap: {index: "${index:Delete}"}')
    await ask(model)
    heard: list[AnswerDelta] = []
    with pytest.raises(ModelFailed, match=r"looks for an element `Delete`.* \(line 4 of the script\)") as failed:
        await ask(model, request(observed()), heard=heard)
    assert failed.value.code == ModelErrorCode.REJECTED
    assert not heard


@pytest.mark.parametrize(
    "message",
    [observed(tool="read_text"), observed(status="failed"), observed("a\n" + SCREEN), UserMessage(text=SCREEN)],
)
async def test_only_an_observation_is_one(message):
    assert last_observed((message,)) is None
    with pytest.raises(ModelFailed, match="which no earlier step has observed"):
        await ask(script_model('- calls:\n  - tap: {index: "${index:Save}"}'), request(message))


async def test_a_thought_takes_its_time_and_ends_at_once_on_the_signal():
    model = script_model("- repeat: 2\n  steps:\n  - say: one two three four\n    seconds: 3600\n    calls: observe")
    turn = TurnCancellation()
    asking = asyncio.create_task(ask(model, turn=turn))
    await asyncio.sleep(0)
    assert not asking.done()
    started = boot_seconds()
    turn.abort(USER)
    answer = await asking
    assert boot_seconds() - started < 3
    assert answer.message == AssistantMessage(parts=(), is_interrupted=True)


async def test_what_was_said_before_the_signal_stays():
    turn = TurnCancellation()
    heard: list[str] = []

    def hear(delta: AnswerDelta) -> None:
        heard.append(delta.text)
        if delta.text == "two ":
            turn.abort(USER)

    model = script_model("- say: one two three four\n  seconds: 0.01\n  calls: observe")
    answer = await model.generate(REQUEST, turn.signal, hear)
    assert answer.message == AssistantMessage(parts=(TextPart(text="one two "),), is_interrupted=True)
    assert heard == ["one ", "two "]


async def test_a_signal_that_fired_before_uses_up_no_step():
    model = script_model("- say: Hello.")
    turn = TurnCancellation()
    turn.abort(USER)
    assert (await ask(model, turn=turn)).message.is_interrupted
    assert (await ask(model)).message.text == "Hello."


async def test_a_function_is_a_model():
    async def play(asked, signal, on_delta):
        on_delta(AnswerDelta(text="Hi"))
        return Answer(AssistantMessage(parts=(TextPart(text="Hi"),)), Usage(1, 2))

    heard: list[AnswerDelta] = []
    answer = await ask(ScriptedModel(play), heard=heard)
    assert (answer.message.text, answer.usage.total_tokens, heard) == ("Hi", 3, [AnswerDelta(text="Hi")])


async def test_a_thought_ends_with_the_time_of_its_goal():
    model = script_model("- say: one two\n  seconds: 3600")
    heard: list[AnswerDelta] = []
    with pytest.raises(ModelFailed) as failed:
        await ask(model, replace(REQUEST, deadline_at=boot_seconds() + 0.05), heard=heard)
    assert failed.value.code == ModelErrorCode.TIMEOUT
    assert not heard
