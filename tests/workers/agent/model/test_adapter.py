"""The adapter over a function: what is hard to make a server do."""

import asyncio
import itertools

import pytest

from tests.workers.agent.model.conftest import QUICK, REQUEST
from workers.agent.cancellation import USER, TurnCancellation
from workers.agent.messages import TextPart, ToolCall
from workers.agent.model.interface import Answer, AnswerDelta, ModelErrorCode, ModelFailed
from workers.agent.model.scripted import streaming_model

pytestmark = pytest.mark.anyio


async def words(_messages, _info):
    for pauses, word in enumerate(("a ", "b ", "c ", "d")):
        for _ in range(pauses):
            await asyncio.sleep(0)
        yield word


async def cancelled_at(event: asyncio.Event, stream) -> Answer:
    """The answer of a model that is cancelled when the event is set."""
    turn = TurnCancellation()
    asking = asyncio.create_task(streaming_model(stream).generate(REQUEST, turn.signal, lambda _: None))
    await event.wait()
    turn.abort(USER)
    return await asking


async def test_wherever_the_signal_fires_the_answer_is_what_was_heard():
    interrupted = whole = 0
    model = streaming_model(words)
    for yields in itertools.chain.from_iterable(itertools.repeat(range(40), 5)):
        turn, heard = TurnCancellation(), list[str]()
        asking = asyncio.create_task(
            model.generate(REQUEST, turn.signal, lambda delta, heard=heard: heard.append(delta.text))
        )
        for _ in range(yields):
            await asyncio.sleep(0)
        turn.abort(USER)
        answer = await asking
        assert answer.message.text == "".join(heard)
        assert answer.message.is_interrupted or answer.message.text == "a b c d"
        interrupted += answer.message.is_interrupted
        whole += not answer.message.is_interrupted
        assert [task for task in asyncio.all_tasks() if task.get_name() == "model-stream"] == []
    assert interrupted
    assert whole


async def test_a_library_that_swallows_the_cancellation_is_cancelled_again():
    waits, swallowed = asyncio.Event(), asyncio.Event()

    async def stubborn(_messages, _info):
        yield "a"
        try:
            waits.set()
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            swallowed.set()
        yield "b"
        await asyncio.sleep(3600)

    answer = await cancelled_at(waits, stubborn)
    assert swallowed.is_set()
    assert answer.message.is_interrupted
    assert answer.message.text == "a"


async def test_an_error_made_of_the_cancellation_is_no_failure():
    waits = asyncio.Event()

    async def mapping(_messages, _info):
        yield "a"
        try:
            waits.set()
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise ConnectionError("closed") from None

    answer = await cancelled_at(waits, mapping)
    assert answer.message.is_interrupted
    assert answer.message.text == "a"


async def test_the_end_of_what_ignores_the_cancellation_is_awaited():
    left = asyncio.Event()

    async def slow_to_leave(_messages, _info):
        try:
            yield "a"
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.05)
            left.set()

    turn = TurnCancellation()
    await streaming_model(slow_to_leave).generate(REQUEST, turn.signal, lambda _: turn.abort(USER))
    assert left.is_set()


async def test_a_cancellation_that_nobody_asked_for_is_a_failure():
    async def cancels_itself(_messages, _info):
        yield "a"
        raise asyncio.CancelledError

    with pytest.raises(ModelFailed) as failed:
        await streaming_model(cancels_itself, retries=QUICK).generate(
            REQUEST, TurnCancellation().signal, lambda _: None
        )
    assert failed.value.code == ModelErrorCode.UNAVAILABLE


async def test_several_agents_may_ask_one_model_at_once():
    model = streaming_model(words)
    turns = [TurnCancellation() for _ in range(5)]
    asking = [asyncio.create_task(model.generate(REQUEST, turn.signal, lambda _: None)) for turn in turns]
    await asyncio.sleep(0)
    turns[2].abort(USER)
    answers = await asyncio.gather(*asking)
    assert [answer.message.is_interrupted for answer in answers] == [False, False, True, False, False]


async def test_a_function_can_call_tools():
    from pydantic_ai.models.function import DeltaToolCall

    async def taps(_messages, info):
        yield "Now."
        yield {1: DeltaToolCall(name=info.function_tools[0].name, json_args='{"element": 3}', tool_call_id="t-1")}

    heard: list[AnswerDelta] = []
    answer = await streaming_model(taps).generate(REQUEST, TurnCancellation().signal, heard.append)
    assert answer.message.parts == (
        TextPart(text="Now."),
        ToolCall(call_id="t-1", tool="tap", arguments={"element": 3}),
    )
