"""What a conversation becomes on its way to a provider."""

import base64
import contextlib
import json
from dataclasses import replace

import pytest
from pydantic_ai import messages as wire

from tests.workers.agent.model.conftest import REQUEST, benched
from tests.workers.agent.model.fake_provider import says
from workers.agent.messages import (
    AssistantMessage,
    Image,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from workers.agent.model.answer_parts import whole_parts
from workers.agent.model.interface import ModelFailed, ModelRequest
from workers.agent.model.provider_messages import IMAGE_GONE, provider_messages, tool_text

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n-not-really"
CALL = ToolCall(call_id="c1", tool="observe", arguments={"screenshot": True})
SEEN = ToolMessage(
    call_id="c1", tool="observe", status="done", text="A form.", images=(Image(sha256="a"), Image(sha256="b"))
)
SIGNED = ThinkingPart(text="Hm.", signature="s", provider="anthropic")


def sent(*messages, provider: str = "anthropic", images=None) -> list[wire.ModelMessage]:
    request = ModelRequest(system="", messages=messages, tools=(), images=images or {})
    return provider_messages(request, provider=provider)


def answer(*parts, is_interrupted: bool = False) -> AssistantMessage:
    return AssistantMessage(parts=parts, is_interrupted=is_interrupted)


@pytest.mark.parametrize(
    "parts",
    [
        (TextPart(text="Hello."),),
        (SIGNED, TextPart(text="Hello."), CALL),
        (ThinkingPart(text="", signature="s", part_id="redacted_thinking", provider="anthropic"), CALL),
        (ToolCall(call_id="c", tool="tap", arguments={}, signature="c2ln", provider="anthropic"),),
        (ToolCall(call_id="c", tool="note", arguments={"a": [1, 2.5, None, {"ß": True}]}),),
    ],
)
def test_an_answer_goes_to_its_provider_and_back_unchanged(parts):
    [response] = sent(answer(*parts))
    assert isinstance(response, wire.ModelResponse)
    assert whole_parts(response.parts) == parts


def test_what_is_asked_between_two_answers_is_one_question():
    messages = sent(
        UserMessage(text="Go."),
        answer(CALL),
        SEEN,
        UserMessage(text="Quick!", source="steering"),
        answer(TextPart(text="k")),
    )
    assert [message.kind for message in messages] == ["request", "response", "request", "response"]
    assert [part.part_kind for part in messages[2].parts] == ["tool-return", "user-prompt"]


@pytest.mark.parametrize(
    "thought",
    [
        SIGNED,
        ThinkingPart(text="Hm.", part_id="reasoning_content", provider="anthropic"),
    ],
)
def test_a_thought_goes_back_to_its_own_provider_only(thought):
    [own] = sent(answer(thought, CALL))
    [other] = sent(answer(thought, CALL), provider="openai")
    assert [part.part_kind for part in own.parts] == ["thinking", "tool-call"]
    assert [part.part_kind for part in other.parts] == ["tool-call"]
    assert own.provider_name == "anthropic"
    assert other.provider_name is None


@pytest.mark.parametrize(
    "thought",
    [ThinkingPart(text="Hm.", provider="anthropic"), ThinkingPart(text="Hm.", part_id="content", provider="anthropic")],
)
def test_a_thought_that_its_provider_does_not_want_stays_here(thought):
    assert sent(answer(thought)) == []


def test_a_signature_of_a_call_goes_to_its_own_provider_only():
    call = ToolCall(call_id="c", tool="tap", arguments={}, signature="c2ln", provider="google")
    [own] = sent(answer(call), provider="google")
    [other] = sent(answer(call), provider="openai")
    assert own.parts[0].provider_details == {"thought_signature": "c2ln"}
    assert other.parts[0].provider_details is None


def test_an_interrupted_answer_keeps_what_was_delivered_but_not_its_thoughts():
    [response] = sent(answer(SIGNED, TextPart(text="I th"), CALL, is_interrupted=True))
    assert isinstance(response, wire.ModelResponse)
    assert response.state == "interrupted"
    assert [part.part_kind for part in response.parts] == ["text", "tool-call"]


def test_an_answer_of_which_nothing_came_is_no_message():
    [request] = sent(UserMessage(text="Go."), answer(is_interrupted=True), UserMessage(text="Again."))
    assert [part.content for part in request.parts] == ["Go.", "Again."]


def test_only_pictures_whose_bytes_are_there_are_shown():
    [request] = sent(SEEN, images={"b": PNG})
    [part] = request.parts
    assert part.content == ["A form.", IMAGE_GONE, wire.BinaryContent(PNG, media_type="image/png")]


@pytest.mark.parametrize(
    ("status", "code", "outcome", "said"),
    [
        ("done", None, "success", "x"),
        ("failed", "no_such_element", "failed", "[failed: no_such_element] x"),
        ("unknown", "device_gone", "failed", "[unknown: device_gone] x"),
        ("refused", "policy_denied", "denied", "[refused: policy_denied] x"),
        ("aborted", "aborted", "interrupted", "[aborted] x"),
        ("aborted_before_dispatch", "aborted_before_dispatch", "interrupted", "[aborted before dispatch] x"),
    ],
)
def test_what_came_of_a_call_is_said_in_words_and_in_the_outcome(status, code, outcome, said):
    message = ToolMessage(call_id="c", tool="tap", status=status, code=code, text="x")
    assert tool_text(message) == said
    [request] = sent(message)
    assert (request.parts[0].content, request.parts[0].outcome) == (said, outcome)


CONVERSATION = (
    UserMessage(text="Go."),
    AssistantMessage(parts=(TextPart(text="I look."), CALL)),
    SEEN,
    AssistantMessage(parts=(ToolCall(call_id="c2", tool="tap", arguments={"element": 1}),), is_interrupted=True),
    ToolMessage(call_id="c2", tool="tap", status="aborted_before_dispatch", text="Not run."),
    UserMessage(text="Go on."),
)


@pytest.mark.parametrize(
    "name", ["compatible:fake", "openai:gpt-5", "anthropic:claude-sonnet-5", "google:gemini-3-pro"]
)
async def test_every_provider_gets_the_picture_the_calls_and_their_results(name):
    async with benched(says("Yes."), name=name) as bench:
        bench.model = replace(bench.model, retries=replace(bench.model.retries, attempts=1))
        # The server speaks the words of one provider only.
        with contextlib.suppress(ModelFailed):
            await bench.ask(replace(REQUEST, messages=CONVERSATION, images={"a": PNG}, max_output_tokens=77))
    [exchange] = bench.provider.exchanges
    body = json.dumps(exchange.body, ensure_ascii=False)
    assert base64.b64encode(PNG).decode() in body or base64.urlsafe_b64encode(PNG).decode() in body
    for said in (
        "You drive a phone.",
        "Go.",
        "I look.",
        "A form.",
        IMAGE_GONE,
        "[aborted before dispatch] Not run.",
        "Go on.",
        "77",
    ):
        assert said in body
    assert (
        body.index("Go.")
        < body.index("I look.")
        < body.index("A form.")
        < body.index("Not run.")
        < body.index("Go on.")
    )
