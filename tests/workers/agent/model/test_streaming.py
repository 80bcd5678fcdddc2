"""An answer that comes whole."""

import pytest

from tests.workers.agent.model.conftest import REQUEST, benched
from tests.workers.agent.model.fake_provider import call, more, says
from workers.agent.messages import TextPart, ThinkingPart, ToolCall
from workers.agent.model.interface import AnswerDelta, Usage

pytestmark = pytest.mark.anyio


async def test_an_answer_is_heard_as_it_comes_and_returned_whole():
    async with benched(
        says("I tap ", "the button.", call("tap", '{"elem'), more('ent": 3}'), finish="tool_calls")
    ) as bench:
        answer = await bench.ask()
    assert answer.message.parts == (
        TextPart(text="I tap the button."),
        ToolCall(call_id="call_1", tool="tap", arguments={"element": 3}),
    )
    assert not answer.message.is_interrupted
    assert answer.usage == Usage(7, 3)
    assert bench.heard == ["I tap ", "the button."]


async def test_the_request_holds_the_prompt_the_tools_and_the_limit():
    async with benched(says("Yes.")) as bench:
        await bench.ask()
    [exchange] = bench.provider.exchanges
    assert exchange.path == "/v1/chat/completions"
    assert exchange.body["model"] == "fake"
    assert exchange.body["stream"] is True
    assert [message["role"] for message in exchange.body["messages"]] == ["system", "user"]
    assert exchange.body["messages"][0]["content"] == REQUEST.system
    assert exchange.body["tools"][0]["function"]["name"] == "tap"


async def test_thoughts_are_heard_apart_from_the_answer():
    async with benched(says({"reasoning_content": "Hm."}, "Yes.")) as bench:
        answer = await bench.ask()
    assert bench.deltas == [AnswerDelta("thinking", "Hm."), AnswerDelta("text", "Yes.")]
    thought = ThinkingPart(text="Hm.", part_id="reasoning_content", provider="compatible")
    assert answer.message.parts == (thought, TextPart(text="Yes."))


async def test_a_call_without_arguments_has_none():
    async with benched(says(call("observe", ""), finish="tool_calls")) as bench:
        answer = await bench.ask()
    assert answer.message.calls == (ToolCall(call_id="call_1", tool="observe", arguments={}),)


async def test_several_calls_come_in_their_order():
    second = call("tap", "{}", index=1, call_id="call_2")
    async with benched(says(call("tap", '{"element": 1}'), second, finish="tool_calls")) as bench:
        answer = await bench.ask()
    assert [part.call_id for part in answer.message.calls] == ["call_1", "call_2"]


async def test_half_a_character_is_no_character():
    async with benched(says("ok \ud83d", "\ude00 \udc00.")) as bench:
        answer = await bench.ask()
    assert answer.message.text == "ok 😀 \ufffd."
    assert all(text.encode() for text in bench.heard)
