"""Each way in which a provider gives no answer has its own code, and none of them looks like success."""

import pytest

from tests.workers.agent.model.conftest import benched
from tests.workers.agent.model.fake_provider import Exchange, call, fails, says
from workers.agent.model.interface import ModelErrorCode, ModelFailed, Usage

pytestmark = pytest.mark.anyio


async def resets(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.delta({"content": "I th"})
    exchange.reset()


async def breaks_off(exchange: Exchange) -> None:
    await exchange.chat({"content": "I th"}, finish=None)


async def speaks_garbage(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event("{not json")


async def speaks_other_json(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event([1, 2])


async def reports_an_error_in_the_stream(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event({"error": {"message": "overloaded", "type": "server_error"}})


def error(message: str, **fields: str) -> dict[str, dict[str, str]]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("handler", "code", "attempts"),
    [
        (fails(401, error("bad key")), ModelErrorCode.AUTH, 1),
        (fails(403, error("not yours")), ModelErrorCode.AUTH, 1),
        (fails(400, error("no such field")), ModelErrorCode.REJECTED, 1),
        (fails(404, error("no such model")), ModelErrorCode.REJECTED, 1),
        (fails(422, error("no")), ModelErrorCode.REJECTED, 1),
        (
            fails(400, error("maximum context length is 10 tokens", code="context_length_exceeded")),
            ModelErrorCode.CONTEXT_EXCEEDED,
            1,
        ),
        (fails(429, error("slow down")), ModelErrorCode.RATE_LIMITED, 4),
        (fails(429, error("pay", code="insufficient_quota")), ModelErrorCode.RATE_LIMITED, 1),
        (fails(500, error("oops")), ModelErrorCode.UNAVAILABLE, 4),
        (fails(503, "<html>down</html>"), ModelErrorCode.UNAVAILABLE, 4),
        (fails(500, error("no"), x_should_retry="false"), ModelErrorCode.UNAVAILABLE, 1),
        (fails(408, error("late")), ModelErrorCode.TIMEOUT, 4),
        (fails(200, "<html>Sign in</html>"), ModelErrorCode.UNAVAILABLE, 4),
        (resets, ModelErrorCode.UNAVAILABLE, 4),
        (breaks_off, ModelErrorCode.UNAVAILABLE, 4),
        (speaks_garbage, ModelErrorCode.UNAVAILABLE, 4),
        (speaks_other_json, ModelErrorCode.UNPARSEABLE, 4),
        (reports_an_error_in_the_stream, ModelErrorCode.UNAVAILABLE, 4),
        (says(), ModelErrorCode.EMPTY, 4),
        (says({"reasoning_content": "Hm."}), ModelErrorCode.EMPTY, 4),
        (says(call("tap", '{"element": 3'), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says(call("tap", "[3]"), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says(call("tap", '{"x": NaN}'), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says(call("tap", '{"x": 1e999}'), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says(call("tap", '{"x": "\\ud800"}'), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says(call("tap", "{}"), call("tap", "{}", index=1), finish="tool_calls"), ModelErrorCode.UNPARSEABLE, 4),
        (says("I th", finish="length"), ModelErrorCode.TRUNCATED, 1),
        (says("I th", finish="content_filter"), ModelErrorCode.REFUSED, 1),
        (says({"refusal": "I may not."}), ModelErrorCode.REFUSED, 1),
    ],
)
async def test_every_failure_has_its_code_and_is_repeated_only_where_that_may_help(handler, code, attempts):
    async with benched(handler) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    assert failed.value.code == code
    assert len(bench.provider.exchanges) == attempts


async def test_a_page_for_people_in_the_place_of_a_model_is_called_one():
    async with benched(fails(200, "<html>Sign in</html>")) as bench:
        with pytest.raises(ModelFailed, match="a web page answered instead of a model"):
            await bench.ask()


async def test_nobody_listening_is_unavailable():
    async with benched() as bench:
        bench.provider.server.close()
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    assert failed.value.code == ModelErrorCode.UNAVAILABLE


async def test_an_answer_that_cannot_be_read_is_in_the_log_with_its_traceback(lines):
    async with benched(speaks_other_json, says("Yes.")) as bench:
        await bench.ask()
    [line] = [line for line in lines if line["event"] == "model.unparseable"]
    assert isinstance(line["exc_info"], AttributeError)


async def test_a_message_is_short_and_holds_no_key():
    body = error("Incorrect API key provided: sk-secret-key-1 or sk-proj-abcdef12345. " + "x" * 1000)
    async with benched(fails(401, body)) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    message = str(failed.value)
    assert message.startswith("HTTP 401: Incorrect API key provided: [key] or [key]. xxx")
    assert len(message) <= 300
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


async def test_the_cost_of_every_attempt_is_counted():
    async with benched(says()) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    assert failed.value.usage == Usage(28, 12)
