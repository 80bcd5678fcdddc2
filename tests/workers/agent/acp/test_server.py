import asyncio
import random

import acp
import pytest

from tests.workers.agent.acp.client import served
from tests.workers.agent.running import RACE_TIMES, running_tasks
from tests.workers.agent.subagents.scripts import Moves, TapTool, call, finish, hang, last_end, say
from workers.agent.budget import Limits
from workers.agent.cancellation import DISPOSED, USER
from workers.agent.messages import AssistantMessage, TextPart, ThinkingPart
from workers.agent.model.interface import Answer, AnswerDelta, ModelErrorCode, ModelFailed
from workers.agent.tools.tool import ToolOutcome


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


pytestmark = pytest.mark.anyio


class Streaming(Moves):
    """Says its texts piece by piece; before each piece, the others get their turn."""

    async def generate(self, request, signal, on_delta):
        answer = await super().generate(request, signal, on_delta)
        pieces = []
        for part in answer.message.parts:
            if isinstance(part, TextPart | ThinkingPart):
                for word in part.text.split(" "):
                    await asyncio.sleep(0)
                    if signal.is_aborted:
                        break
                    pieces.append(f"{word} ")
                    on_delta(AnswerDelta(part.kind, pieces[-1]))
        if not signal.is_aborted:
            return answer
        text = TextPart(text="".join(pieces))
        return Answer(AssistantMessage(parts=(text,), is_interrupted=True), answer.usage)


async def test_it_says_who_it_is_and_what_it_takes():
    async with served() as acp_:
        answer = await acp_.connection.initialize(protocol_version=1)
    assert answer.protocol_version == 1
    assert answer.agent_info.name == "corral"
    assert not answer.agent_capabilities.load_session
    assert not answer.agent_capabilities.prompt_capabilities.image


async def test_a_client_of_a_later_protocol_is_told_what_is_spoken_here():
    async with served() as acp_:
        assert (await acp_.connection.initialize(protocol_version=9)).protocol_version == 1


async def test_a_turn_is_told_in_order_and_its_stop_reason_comes_after_all_of_it():
    thought = ThinkingPart(text="Hm, let me")
    answer = AssistantMessage(parts=(thought, TextPart(text="I tap it."), *call("tap").parts))
    model = Streaming(agent=[answer, finish(message="It is tapped.")])
    async with served(model, asks_permission=False) as acp_:
        session = await acp_.session()
        response = await acp_.prompt(session)
        told = list(acp_.editor.told())
    assert response.stop_reason == "end_turn"
    assert told == [
        ("thinks", "Hm, "),
        ("thinks", "let "),
        ("thinks", "me "),
        ("says", "I "),
        ("says", "tap "),
        ("says", "it. "),
        ("pending", "tap"),
        ("in_progress", "1.1.call-1"),
        ("completed", "Tapped."),
        ("pending", "finish status=success message=It is tapped. output=null"),
        ("in_progress", "1.2.call-1"),
        ("completed", "Finished."),
        ("says", "\n\nIt is tapped."),
    ]


async def test_an_answer_that_was_not_streamed_is_told_whole():
    async with served(Moves(agent=[say("Good day.")])) as acp_:
        await acp_.prompt(await acp_.session())
        assert acp_.editor.told() == [("says", "Good day.")]


async def test_a_call_that_failed_is_told_as_failed():
    tap = TapTool()
    tap.outcome = ToolOutcome("unknown", "Nobody knows.", "timeout")
    async with served(Moves(agent=[call("tap"), finish()]), tap=tap, asks_permission=False) as acp_:
        await acp_.prompt(await acp_.session())
        assert ("failed", "Nobody knows.") in acp_.editor.told()


async def test_a_cancel_in_mid_stream_is_the_users_and_the_session_goes_on():
    model = Streaming(agent=[say("word " * 2000), say("Fresh.")])
    async with served(model) as acp_:
        session = await acp_.session()
        prompting = acp_.prompt(session)
        await acp_.editor.until(lambda: len(acp_.editor.updates) > 10)
        await acp_.connection.cancel(session_id=session)
        assert (await prompting).stop_reason == "cancelled"
        assert model.signals["agent"].reason == USER
        [agent] = acp_.agents
        assert last_end(agent) == {"kind": "aborted"}
        # What was shown is what is kept, and nothing comes after the stop reason.
        assert acp_.editor.said() == agent.session.messages[-1].text
        count = len(acp_.editor.updates)
        assert count < 2000
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(acp_.editor.updates) == count
        assert (await acp_.prompt(session, "Go on.")).stop_reason == "end_turn"
        assert acp_.editor.said().endswith("Fresh. ")
        assert not model.signals["agent"].is_aborted


async def test_a_cancel_while_a_tool_runs_waits_for_the_tool():
    tap, running, let_go = TapTool(), asyncio.Event(), asyncio.Event()

    async def before(_request):
        running.set()
        await let_go.wait()

    tap.before = before
    async with served(Moves(agent=[call("tap")]), tap=tap, asks_permission=False) as acp_:
        session = await acp_.session()
        prompting = acp_.prompt(session)
        await running.wait()
        await acp_.connection.cancel(session_id=session)
        for _ in range(30):
            await asyncio.sleep(0)
        assert not prompting.done()
        let_go.set()
        assert (await prompting).stop_reason == "cancelled"
        assert acp_.editor.told()[-1] == ("completed", "Tapped.")


async def test_a_cancel_without_a_turn_does_nothing():
    async with served(Moves(agent=[say("Still here.")])) as acp_:
        session = await acp_.session()
        await acp_.connection.cancel(session_id=session)
        await acp_.connection.cancel(session_id="no such session")
        assert (await acp_.prompt(session)).stop_reason == "end_turn"


async def test_a_cancel_drops_the_prompts_that_wait_behind_the_turn():
    model = Moves(agent=[hang])
    async with served(model) as acp_:
        session = await acp_.session()
        first, second = acp_.prompt(session), acp_.prompt(session)
        await model.until_asked_by("agent")
        await acp_.connection.cancel(session_id=session)
        assert [(await prompting).stop_reason for prompting in (first, second)] == ["cancelled", "cancelled"]
        assert acp_.agents[0].session.turns == 1


async def test_two_sessions_take_turns_on_the_device_and_know_nothing_of_each_other():
    first, second = Moves(agent=[hang, finish()]), Moves(agent=[call("tap"), finish(message="Mine.")])
    async with served(first, second, asks_permission=False) as acp_:
        one, two = await acp_.session(), await acp_.session()
        assert one != two
        prompting = acp_.prompt(one, "First.")
        await first.until_asked_by("agent")
        waiting = acp_.prompt(two, "Second.")
        await acp_.editor.until(lambda: acp_.editor.told(two))
        assert "Another session is at work on this device" in acp_.editor.said(two)
        assert second.requests == {}
        await acp_.connection.cancel(session_id=one)
        assert (await prompting).stop_reason == "cancelled"
        assert (await waiting).stop_reason == "end_turn"
        assert "Mine." in acp_.editor.said(two)
        assert "Mine." not in acp_.editor.said(one)
        assert [m.text for m in second.requests["agent"][0].messages] == ["Second."]


async def test_a_prompt_that_waits_for_the_device_can_be_cancelled():
    first, second = Moves(agent=[hang, say("Done.")]), Moves(agent=[say("Now.")])
    async with served(first, second) as acp_:
        one, two = await acp_.session(), await acp_.session()
        prompting = acp_.prompt(one)
        await first.until_asked_by("agent")
        waiting = acp_.prompt(two)
        await acp_.editor.until(lambda: acp_.editor.told(two))
        await acp_.connection.cancel(session_id=two)
        assert (await waiting).stop_reason == "cancelled"
        assert not prompting.done()
        await acp_.connection.cancel(session_id=one)
        await prompting
        assert (await acp_.prompt(two)).stop_reason == "end_turn"


async def test_a_client_that_goes_away_leaves_nothing_running():
    model, other = Moves(agent=[hang]), Moves(agent=[hang])
    before = running_tasks()
    async with served(model, other) as acp_:
        prompts = [acp_.prompt(await acp_.session()), acp_.prompt(await acp_.session())]
        await model.until_asked_by("agent")
        await acp_.transport.close()
        await acp_.serving
        assert model.signals["agent"].reason == DISPOSED
        assert [agent.status for agent in acp_.agents] == ["disposed", "disposed"]
        assert last_end(acp_.agents[0]) == {"kind": "aborted"}
        assert [(await prompting).stop_reason for prompting in prompts] == ["cancelled", "cancelled"]
    assert running_tasks() == before


@pytest.mark.parametrize(
    ("limits", "stop_reason"),
    [
        (Limits(steps=2), "max_turn_requests"),
        (Limits(tokens=20), "max_tokens"),
        (Limits(wall_seconds=0), "max_turn_requests"),
    ],
)
async def test_the_end_of_a_budget_is_a_stop_reason_and_a_sentence(limits, stop_reason):
    async with served(Moves(agent=[call("tap")] * 3), limits=limits, asks_permission=False) as acp_:
        response = await acp_.prompt(await acp_.session())
        assert response.stop_reason == stop_reason
        assert "(The turn ended: " in acp_.editor.said()


async def test_a_model_that_refuses_is_a_refusal_and_one_that_fails_an_error_with_its_code():
    def failing(code):
        async def fail(_request, _signal):
            raise ModelFailed(code, "it said why")

        return fail

    model = Moves(agent=[failing(ModelErrorCode.REFUSED), failing(ModelErrorCode.RATE_LIMITED), say("Well.")])
    async with served(model) as acp_:
        session = await acp_.session()
        assert (await acp_.prompt(session)).stop_reason == "refusal"
        with pytest.raises(acp.RequestError, match="it said why") as failed:
            await acp_.prompt(session)
        assert failed.value.data == {"code": "llm_rate_limited"}
        assert (await acp_.prompt(session)).stop_reason == "end_turn"


async def test_a_stuck_turn_is_an_error_that_says_so():
    tap = TapTool()
    tap.outcome = ToolOutcome("done", "Tapped.", repeat_key="tap")
    async with served(Moves(agent=[call("tap")] * 9), tap=tap, asks_permission=False) as acp_:
        with pytest.raises(acp.RequestError, match="5 times in a row") as failed:
            await acp_.prompt(await acp_.session())
        assert failed.value.data == {"code": "stuck"}


async def test_an_answer_that_began_again_is_told_as_such():
    class Restarting(Moves):
        async def generate(self, request, signal, on_delta):
            on_delta(AnswerDelta(text="Half an"))
            on_delta(AnswerDelta(is_restart=True))
            on_delta(AnswerDelta(text="A whole answer."))
            return await super().generate(request, signal, on_delta)

    async with served(Restarting(agent=[say("A whole answer.")])) as acp_:
        await acp_.prompt(await acp_.session())
        assert acp_.editor.said().startswith("Half an\n\n(The answer broke off;")
        assert acp_.editor.said().endswith("\n\nA whole answer.")


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([], "the prompt is empty"),
        ([acp.text_block(" \n")], "the prompt is empty"),
        ([acp.image_block("aGk=", "image/png")], "a block of type image is not taken"),
        ([acp.audio_block("aGk=", "audio/wav")], "a block of type audio is not taken"),
        ([acp.resource_block(acp.embedded_text_resource("file:///x", "x"))], "a block of type resource is not taken"),
        ([acp.text_block("x" * 500_001)], "500001 characters"),
    ],
)
async def test_a_prompt_that_cannot_be_meant_so_is_refused(blocks, words):
    async with served(Moves(agent=[])) as acp_:
        with pytest.raises(acp.RequestError, match=words) as refused:
            await acp_.connection.prompt(session_id=await acp_.session(), prompt=blocks)
        assert refused.value.code == -32602
        assert acp_.agents[0].session.turns == 0


async def test_a_linked_resource_is_told_by_its_address():
    model = Moves(agent=[say("I see.")])
    async with served(model) as acp_:
        link = acp.resource_link_block("notes", "file:///notes.md")
        await acp_.connection.prompt(session_id=await acp_.session(), prompt=[acp.text_block("Read"), link])
        assert model.requests["agent"][0].messages[0].text == "Read\nnotes: file:///notes.md"


async def test_an_unknown_session_is_refused():
    async with served() as acp_:
        with pytest.raises(acp.RequestError, match="there is no session 'nobody'") as refused:
            await acp_.prompt("nobody")
        assert refused.value.code == -32602


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}),
        ("session/set_mode", {"sessionId": "s", "modeId": "m"}),
        ("session/fork", {"sessionId": "s", "cwd": "/"}),
        ("authenticate", {"methodId": "m"}),
        ("_corral/nothing", {}),
        ("no/such", None),
    ],
)
@pytest.mark.filterwarnings("ignore:The method session/fork is part of the unstable protocol")
async def test_what_is_not_offered_is_not_found(method, params):
    async with served() as acp_:
        with pytest.raises(acp.RequestError) as refused:
            await acp_.connection._conn.send_request(method, params)
        assert refused.value.code == -32601


@pytest.mark.parametrize(
    "message",
    [
        {"id": 7, "method": "session/prompt"},
        {"id": 7, "method": "session/prompt", "params": {"sessionId": 5, "prompt": "x"}},
        {"id": 7, "method": "session/prompt", "params": [1]},
        {"id": 7, "method": ["session/prompt"]},
        {"method": "session/cancel", "params": {"sessionId": None}},
        {"id": 99, "result": {}},
        {},
    ],
)
async def test_a_malformed_message_harms_nobody(message, caplog):
    async with served(Moves(agent=[say("Still here.")])) as acp_:
        await acp_.transport.send({"jsonrpc": "2.0", **message})
        assert (await acp_.prompt(await acp_.session())).stop_reason == "end_turn"


@pytest.mark.parametrize("how", ["cancel", "go away"])
async def test_at_any_moment_the_stop_reason_comes_last_and_nothing_is_left(how):
    reasons = set()
    for seed in range(RACE_TIMES):
        chance = random.Random(seed)  # noqa: S311  where it stops
        model = Streaming(agent=[call("tap"), say("One two three four."), call("tap"), finish(), say("Again.")])
        async with served(model) as acp_:
            session = await acp_.session()
            prompting = acp_.prompt(session)
            for _ in range(chance.randrange(120)):
                await asyncio.sleep(0)
            if how == "cancel":
                await acp_.connection.cancel(session_id=session)
                reasons.add((await prompting).stop_reason)
                count = len(acp_.editor.updates)
                for _ in range(20):
                    await asyncio.sleep(0)
                assert len(acp_.editor.updates) == count
                model.moves["agent"] = [say("Again.")]
                assert (await acp_.prompt(session)).stop_reason == "end_turn"
            else:
                await acp_.transport.close()
                await acp_.serving
                await asyncio.gather(prompting, return_exceptions=True)
    assert how == "go away" or reasons == {"cancelled", "end_turn"}
