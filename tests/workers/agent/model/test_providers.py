"""Models by name, and one streamed answer from each kind of provider."""

import asyncio
import subprocess
import sys

import pytest

from tests.workers.agent.model.conftest import benched
from tests.workers.agent.model.fake_provider import Exchange
from workers.agent.cancellation import USER
from workers.agent.messages import TextPart, ThinkingPart, ToolCall
from workers.agent.model.interface import ModelErrorCode, ModelFailed, Usage
from workers.agent.model.providers import ModelNotConfigured, address_of, open_model

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "api", "key"),
    [
        ("openai:gpt-5", "openai-responses", "OPENAI_API_KEY"),
        ("openai-responses:gpt-5", "openai-responses", "OPENAI_API_KEY"),
        ("openai-chat:gpt-5", "openai-chat", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "anthropic", "ANTHROPIC_API_KEY"),
        ("google:gemini-3-pro", "google", "GOOGLE_API_KEY"),
        ("google-gla:gemini-3-pro", "google", "GEMINI_API_KEY"),
    ],
)
def test_a_model_is_found_by_name_and_its_key_in_the_environment(name, api, key):
    address = address_of(name, environment={key: "k-1"})
    assert (address.api, address.model, address.api_key) == (api, name.partition(":")[2], "k-1")


def test_what_is_given_wins_over_the_environment():
    environment = {"OPENAI_API_KEY": "k-1", "OPENAI_BASE_URL": "http://a/v1"}
    assert address_of("openai:x", environment=environment).url == "http://a/v1"
    address = address_of("openai:x", url="http://b/v1", api_key="k-2", environment=environment)
    assert (address.url, address.api_key) == ("http://b/v1", "k-2")


@pytest.mark.parametrize(
    ("name", "url", "said"),
    [
        ("gpt-5", None, "no model is named `gpt-5`; models are named openai:MODEL"),
        ("openai:", None, "no model is named"),
        ("mystery:model", None, "compatible:MODEL"),
        ("openai:gpt-5", None, "set OPENAI_API_KEY"),
        ("anthropic:x", None, "set ANTHROPIC_API_KEY"),
        ("google:x", None, "set GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("compatible:x", None, "needs the URL"),
        ("compatible:x", "localhost:8080", "must begin with http://"),
        ("compatible:x", "http://", "name a host"),
    ],
)
def test_what_is_missing_is_said(name, url, said):
    with pytest.raises(ModelNotConfigured) as refused:
        open_model(name, url=url, environment={"OPENAI_API_KEY": "  "})
    assert said in str(refused.value)


async def test_whether_a_model_takes_images_can_be_told():
    for told, taken in ((None, False), (True, True)):
        model = open_model("compatible:x", url="http://127.0.0.1:1/v1", environment={}, takes_images=told)
        assert model.takes_images == taken
        await model.aclose()
    model = open_model("openai:gpt-5", api_key="k", environment={})
    assert model.takes_images
    await model.aclose()


async def test_a_compatible_endpoint_needs_no_key():
    model = open_model("compatible:llama:8b", url="http://127.0.0.1:1/v1", environment={"OPENAI_API_KEY": "k"})
    assert (model.name, model.model.model_name, model.secrets) == ("compatible:llama:8b", "llama:8b", ())
    await model.aclose()


def test_naming_a_model_imports_no_provider():
    code = (
        "import sys, workers.agent.model.providers, workers.agent.model.script_planner as s; s.script_model('- say: a')"
    )
    check = "assert not {'pydantic_ai', 'openai', 'anthropic', 'httpx2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{code}\n{check}"], check=True)


def _anthropic_start() -> dict:
    usage = {"input_tokens": 11, "output_tokens": 1}
    return {
        "type": "message_start",
        "message": {
            "id": "m-1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    }


async def _block(exchange: Exchange, index: int, block: dict, *deltas: dict) -> None:
    start = {"type": "content_block_start", "index": index, "content_block": block}
    await exchange.event(start, name="content_block_start")
    for delta in deltas:
        event = {"type": "content_block_delta", "index": index, "delta": delta}
        await exchange.event(event, name="content_block_delta")
    await exchange.event({"type": "content_block_stop", "index": index}, name="content_block_stop")


async def anthropic(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event(_anthropic_start(), name="message_start")
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    thought = {"type": "thinking_delta", "thinking": "Hm."}
    await _block(exchange, 0, thinking, thought, {"type": "signature_delta", "signature": "s1"})
    await _block(exchange, 1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I tap."})
    use = {"type": "tool_use", "id": "t-1", "name": "tap", "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"ele', 'ment": 3}')]
    await _block(exchange, 2, use, *pieces)
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    await exchange.event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}, name="message_delta")
    await exchange.event({"type": "message_stop"}, name="message_stop")


async def test_anthropic_streams():
    async with benched(anthropic, name="anthropic:claude-sonnet-5") as bench:
        answer = await bench.ask()
    [exchange] = bench.provider.exchanges
    assert exchange.path.startswith("/v1/messages")
    assert any("sk-secret-key-1" in value for value in exchange.headers.values())
    assert answer.message.parts == (
        ThinkingPart(text="Hm.", signature="s1", provider="anthropic"),
        TextPart(text="I tap."),
        ToolCall(call_id="t-1", tool="tap", arguments={"element": 3}),
    )
    assert answer.usage == Usage(11, 9)
    assert bench.heard == ["Hm.", "I tap."]


def gemini(parts: list[dict], *, finish: str | None = None) -> dict:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "g", "responseId": "r"}


async def google(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event(gemini([{"text": "I "}]))
    await exchange.event(gemini([{"text": "tap."}]))
    tap = {"functionCall": {"name": "tap", "args": {"element": 3}}, "thoughtSignature": "c2ln"}
    await exchange.event(gemini([tap], finish="STOP"))


async def test_google_streams():
    async with benched(google, name="google:gemini-3-pro") as bench:
        answer = await bench.ask()
    [exchange] = bench.provider.exchanges
    assert "streamGenerateContent" in exchange.path
    [text, call] = answer.message.parts
    assert text == TextPart(text="I tap.")
    assert isinstance(call, ToolCall)
    assert (call.tool, call.arguments, call.signature, call.provider) == ("tap", {"element": 3}, "c2ln", "google")
    assert answer.usage == Usage(5, 4)


async def google_breaks_off(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event(gemini([{"text": "I "}]))


async def anthropic_breaks_off(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.event(_anthropic_start(), name="message_start")
    await _block(exchange, 0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I "})


def _response(status: str, output: list[dict]) -> dict:
    usage = {
        "input_tokens": 6,
        "output_tokens": 2,
        "total_tokens": 8,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "resp-1",
        "object": "response",
        "created_at": 1,
        "model": "gpt",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if status == "completed" else None,
    }


async def responses_breaks_off(exchange: Exchange) -> None:
    await exchange.start()
    created = {"type": "response.created", "sequence_number": 0, "response": _response("in_progress", [])}
    await exchange.event(created, name="response.created")
    item = {"type": "message", "id": "i-1", "role": "assistant", "status": "in_progress", "content": []}
    added = {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item}
    await exchange.event(added, name=added["type"])
    delta = {
        "type": "response.output_text.delta",
        "sequence_number": 2,
        "item_id": "i-1",
        "output_index": 0,
        "content_index": 0,
        "delta": "I ",
        "logprobs": [],
    }
    await exchange.event(delta, name=delta["type"])


async def responses(exchange: Exchange) -> None:
    await responses_breaks_off(exchange)
    text = {"type": "output_text", "text": "I ", "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "i-1", "role": "assistant", "status": "completed", "content": [text]}
    done = {"type": "response.output_item.done", "sequence_number": 3, "output_index": 0, "item": item}
    await exchange.event(done, name=done["type"])
    end = {"type": "response.completed", "sequence_number": 4, "response": _response("completed", [item])}
    await exchange.event(end, name=end["type"])


async def test_openai_streams():
    async with benched(responses, name="openai:gpt-5") as bench:
        answer = await bench.ask()
    [exchange] = bench.provider.exchanges
    assert exchange.path == "/v1/responses"
    assert exchange.body["store"] is False
    assert answer.message.parts == (TextPart(text="I "),)
    assert answer.usage == Usage(6, 2)


@pytest.mark.parametrize(
    ("name", "handler"),
    [
        ("google:gemini-3-pro", google_breaks_off),
        ("anthropic:claude-sonnet-5", anthropic_breaks_off),
        ("openai:gpt-5", responses_breaks_off),
    ],
)
async def test_an_answer_that_breaks_off_is_no_answer(name, handler):
    async with benched(handler, name=name) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    assert failed.value.code == ModelErrorCode.UNAVAILABLE
    assert bench.heard == ["I ", "(restart)"] * 3 + ["I "]


@pytest.mark.parametrize(
    ("name", "handler"),
    [
        ("google:gemini-3-pro", google_breaks_off),
        ("anthropic:claude-sonnet-5", anthropic_breaks_off),
        ("openai:gpt-5", responses_breaks_off),
    ],
)
async def test_each_provider_hangs_up_when_the_signal_fires(name, handler):
    async def holds(exchange: Exchange) -> None:
        await handler(exchange)
        await exchange.closed.wait()

    async with benched(holds, name=name) as bench:
        answer = await bench.ask(on_delta=lambda _: bench.turn.abort(USER))
        async with asyncio.timeout(10):
            await bench.provider.exchanges[0].closed.wait()
    assert answer.message.is_interrupted
    assert answer.message.text == "I "


@pytest.mark.parametrize("name", ["google:gemini-3-pro", "anthropic:claude-sonnet-5", "openai:gpt-5"])
async def test_each_provider_is_asked_once_for_each_attempt(name):
    async def is_down(exchange: Exchange) -> None:
        await exchange.reply(503, {"error": {"message": "down", "code": 503, "status": "UNAVAILABLE"}})

    async with benched(is_down, name=name) as bench:
        with pytest.raises(ModelFailed) as failed:
            await bench.ask()
    assert failed.value.code == ModelErrorCode.UNAVAILABLE
    assert len(bench.provider.exchanges) == 4
