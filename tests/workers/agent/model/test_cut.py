"""A stream that is cut off: by the signal, by the deadline, by silence, by a defect of whoever listens."""

import asyncio
from dataclasses import replace

import pytest

from tests.workers.agent.model.conftest import REQUEST, benched
from tests.workers.agent.model.fake_provider import Exchange, call, more, says
from workers.agent.cancellation import USER
from workers.agent.messages import TextPart, ToolCall
from workers.agent.model.interface import ModelErrorCode, ModelFailed
from workers.clock import boot_seconds

pytestmark = pytest.mark.anyio


async def holds(exchange: Exchange) -> None:
    """Says a little and then nothing, until the client hangs up."""
    await exchange.start()
    await exchange.delta({"content": "I think"})
    await exchange.closed.wait()


async def silent(exchange: Exchange) -> None:
    await exchange.closed.wait()


def tasks_of_streams() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "model-stream"]


async def test_the_signal_closes_the_connection_and_what_was_delivered_stays():
    async with benched(holds) as bench:
        started = boot_seconds()
        answer = await bench.ask(on_delta=lambda _: bench.turn.abort(USER))
        assert boot_seconds() - started < 3
        assert answer.message.is_interrupted
        assert answer.message.parts == (TextPart(text="I think"),)
        assert not tasks_of_streams()
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
    assert len(bench.provider.exchanges) == 1


async def test_the_signal_ends_a_request_that_was_not_answered_at_all():
    async with benched(silent) as bench:
        asking = asyncio.create_task(bench.ask())
        async with asyncio.timeout(10):
            await bench.provider.asked.wait()
        bench.turn.abort(USER)
        answer = await asking
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
    assert answer.message.is_interrupted
    assert answer.message.parts == ()


async def test_a_signal_that_fired_before_means_no_request():
    async with benched(silent) as bench:
        bench.turn.abort(USER)
        answer = await bench.ask()
        assert answer.message.is_interrupted
        assert not bench.provider.exchanges


async def test_only_calls_whose_end_came_are_delivered():
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.delta(call("tap", '{"element": 1}', call_id="whole"))
        await exchange.delta(call("observe", "", index=1, call_id="bare"))
        await exchange.delta(call("tap", '{"elem', index=2, call_id="half"))
        await exchange.delta({"content": "So."})
        await exchange.delta(call("observe", "", index=3, call_id="perhaps"))
        await exchange.delta({"reasoning_content": "."})
        await exchange.closed.wait()

    async with benched(handler) as bench:
        answer = await bench.ask(on_delta=lambda delta: delta.text == "." and bench.turn.abort(USER))
    assert answer.message.is_interrupted
    assert [part.call_id for part in answer.message.calls] == ["whole", "bare", "perhaps"]
    assert answer.message.text == "So."


async def test_an_unfinished_call_is_left_out():
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.delta({"content": "So."})
        await exchange.delta(call("tap", ""))
        await exchange.delta(more('{"element": 1'))
        await exchange.delta({"reasoning_content": "."})
        await exchange.closed.wait()

    async with benched(handler) as bench:
        answer = await bench.ask(on_delta=lambda delta: delta.text == "." and bench.turn.abort(USER))
    assert [part.kind for part in answer.message.parts] == ["text", "thinking"]


async def test_an_answer_that_was_complete_before_the_signal_is_a_normal_one():
    async with benched(says("Yes.")) as bench:
        answer = await bench.ask()
        bench.turn.abort(USER)
    assert not answer.message.is_interrupted
    assert answer.message.text == "Yes."


async def test_at_the_deadline_the_request_ends():
    async with benched(holds) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask(replace(REQUEST, deadline_at=boot_seconds() + 0.1))
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
        assert not tasks_of_streams()
    assert failed.value.code == ModelErrorCode.TIMEOUT
    assert len(bench.provider.exchanges) == 1


async def test_after_the_deadline_nothing_is_asked():
    async with benched(silent) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask(replace(REQUEST, deadline_at=boot_seconds()))
        assert failed.value.code == ModelErrorCode.TIMEOUT
        assert not bench.provider.exchanges


async def test_a_model_that_falls_silent_is_asked_again():
    async with benched(holds, says("Yes."), idle_seconds=0.2) as bench:
        answer = await bench.ask()
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
    assert answer.message.parts == (TextPart(text="Yes."),)
    assert bench.heard == ["I think", "(restart)", "Yes."]


async def test_what_a_listener_raises_comes_out_and_nothing_stays_behind():
    def broken(_delta: object) -> None:
        raise LookupError("no such screen")

    async with benched(holds) as bench:
        with pytest.raises(LookupError):
            await bench.ask(on_delta=broken)
        assert not tasks_of_streams()
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()


async def test_a_caller_that_is_cancelled_itself_leaves_nothing_behind():
    async with benched(holds) as bench:
        asking = asyncio.create_task(bench.ask())
        async with asyncio.timeout(10):
            await bench.began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not tasks_of_streams()
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()


async def test_the_calls_of_a_delivered_prefix_are_whole_calls():
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.delta(call("tap", '{"element": 1}'))
        await exchange.delta({"content": "Then"})
        await exchange.closed.wait()

    async with benched(handler) as bench:
        answer = await bench.ask(on_delta=lambda _: bench.turn.abort(USER))
    assert answer.message.parts == (
        ToolCall(call_id="call_1", tool="tap", arguments={"element": 1}),
        TextPart(text="Then"),
    )


async def goes_on_for_ever(exchange: Exchange) -> None:
    await exchange.start()
    while not exchange.closed.is_set():
        await exchange.delta({"content": "and " * 1000})


async def one_endless_line(exchange: Exchange) -> None:
    await exchange.start()
    while not exchange.closed.is_set():
        exchange.writer.write(b"data: " + b"x" * 10_000)
        await exchange.writer.drain()


async def a_page_too_much(exchange: Exchange) -> None:
    await exchange.reply(400, "x" * 300_000)


@pytest.mark.parametrize("handler", [goes_on_for_ever, one_endless_line, a_page_too_much])
async def test_an_answer_without_end_is_cut_off_before_it_fills_the_memory(handler, monkeypatch):
    monkeypatch.setattr("workers.agent.model.connections.MAX_ANSWER_BYTES", 200_000)
    async with benched(handler) as bench:
        with pytest.raises(ModelFailed, match="the answer is larger than") as failed:
            await bench.ask()
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
    assert failed.value.code == ModelErrorCode.TRUNCATED
    assert len(bench.provider.exchanges) == 1


async def test_a_call_that_nests_without_end_is_no_call():
    deep = f'{{"element": {"[" * 200}{"]" * 200}}}'
    async with benched(says(call("tap", deep), finish="tool_calls"), says("Sorry.")) as bench:
        answer = await bench.ask()
    assert answer.message.parts == (TextPart(text="Sorry."),)
    assert len(bench.provider.exchanges) == 2


async def a_call_after_the_other(exchange: Exchange) -> None:
    await exchange.chat(*(call("tap", "{}", index=n, call_id=f"call_{n}") for n in range(12)), finish="tool_calls")


@pytest.mark.parametrize(
    "handler",
    [
        says("and " * 300, finish="stop"),
        says({"reasoning_content": "and " * 300}),
        says(call("tap", '{"on": "'), more("x" * 1200), finish="tool_calls"),
        a_call_after_the_other,
    ],
)
async def test_an_answer_that_nobody_can_use_is_cut_off(handler, monkeypatch):
    monkeypatch.setattr("workers.agent.model.stream.MAX_ANSWER_CHARACTERS", 1000)
    monkeypatch.setattr("workers.agent.model.stream.MAX_CALLS", 10)
    async with benched(handler) as bench:
        with pytest.raises(ModelFailed, match="longer than any") as failed:
            await bench.ask()
    assert failed.value.code == ModelErrorCode.TRUNCATED
