import asyncio
import random

import acp
import pytest

from tests.workers.agent.acp.client import DENIED, chosen, served
from tests.workers.agent.running import RACE_TIMES, running_tasks
from tests.workers.agent.subagents.scripts import Moves, TapTool, call, calls, finish, last_end, results, say
from workers.agent.subagents.spawn import SpawnAgent


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


pytestmark = pytest.mark.anyio


def answering(*answers):
    waiting = list(answers)

    async def answer():
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return answer


async def test_what_changes_something_is_asked_for_once_its_call_was_told():
    tap = TapTool()
    async with served(Moves(agent=[call("tap", text="Save"), finish()]), tap=tap) as acp_:
        await acp_.prompt(await acp_.session())
        [asked] = acp_.editor.asked
        assert (asked.title, asked.kind, asked.raw_input) == ("tap text=Save", "execute", {"text": "Save"})
        assert list(acp_.editor.offered.values()) == ["allow_once", "allow_always", "reject_once"]
        assert acp_.editor.told()[:4] == [
            ("pending", "tap text=Save"),
            ("asked", "1.1.call-1"),
            ("in_progress", "1.1.call-1"),
            ("completed", "Tapped."),
        ]
        assert len(tap.taps) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (chosen("reject"), "the user refused it"),
        (DENIED, "the user gave no answer"),
        (chosen("something else"), "the user's answer was none of those offered"),
        (acp.RequestError.method_not_found("session/request_permission"), "the user could not be asked"),
    ],
)
async def test_what_is_not_allowed_does_not_run_and_the_model_learns_why(answer, reason):
    tap = TapTool()
    async with served(Moves(agent=[call("tap"), finish()]), tap=tap) as acp_:
        acp_.editor.answer = answering(answer)
        assert (await acp_.prompt(await acp_.session())).stop_reason == "end_turn"
        assert tap.taps == []
        assert results(acp_.agents[0])[0] == ("tap", "refused", "policy_denied")
        assert acp_.editor.told()[2] == ("failed", f"Not run: {reason}.")


async def test_allowed_once_is_asked_again_and_allowed_always_is_not_in_this_session():
    def moves():
        return Moves(agent=[calls(("tap", {}), ("tap", {}), ("tap", {})), finish()])

    async with served(moves(), moves()) as acp_:
        acp_.editor.answer = answering(chosen("allow"), chosen("allow-always"), *[chosen("reject")] * 3)
        await acp_.prompt(await acp_.session())
        assert [status for _, status, _ in results(acp_.agents[0])][:3] == ["done"] * 3
        assert len(acp_.editor.asked) == 2
        await acp_.prompt(await acp_.session())
        assert [status for _, status, _ in results(acp_.agents[1])][:3] == ["refused"] * 3


async def test_with_yes_nobody_is_asked():
    tap = TapTool()
    async with served(Moves(agent=[call("tap"), finish()]), tap=tap, asks_permission=False) as acp_:
        await acp_.prompt(await acp_.session())
        assert acp_.editor.asked == []
        assert len(tap.taps) == 1


@pytest.mark.parametrize("client_answers", [True, False])
async def test_a_cancel_ends_a_pending_question_whether_the_client_answers_it_or_not(client_answers):
    tap, late = TapTool(), asyncio.Event()

    async def answer():
        await late.wait()
        return DENIED if client_answers else chosen("allow")

    async with served(Moves(agent=[call("tap"), say("Fresh.")]), tap=tap) as acp_:
        acp_.editor.answer = answer
        session = await acp_.session()
        prompting = acp_.prompt(session)
        await acp_.editor.until(lambda: acp_.editor.asked)
        await acp_.connection.cancel(session_id=session)
        if client_answers:
            late.set()
        assert (await prompting).stop_reason == "cancelled"
        [agent] = acp_.agents
        assert results(agent) == [("tap", "aborted_before_dispatch", "aborted_before_dispatch")]
        assert last_end(agent) == {"kind": "aborted"}
        # An answer that comes too late allows nothing.
        late.set()
        assert (await acp_.prompt(session)).stop_reason == "end_turn"
        assert tap.taps == []


async def test_a_client_that_goes_away_with_a_question_open_leaves_nothing():
    tap = TapTool()

    async def answer():
        await asyncio.Event().wait()

    before = running_tasks()
    async with served(Moves(agent=[call("tap"), finish()]), tap=tap) as acp_:
        acp_.editor.answer = answer
        prompting = acp_.prompt(await acp_.session())
        await acp_.editor.until(lambda: acp_.editor.asked)
        await acp_.transport.close()
        await acp_.serving
        await asyncio.wait({prompting})
        assert tap.taps == []
    assert running_tasks() == before


async def test_the_calls_of_a_subagent_are_asked_for_too_and_say_whose_they_are():
    tap = TapTool()
    model = Moves(
        agent=[call("spawn_agent", goal="Tap it."), finish()], agent__child=[call("tap"), call("tap"), finish()]
    )
    async with served(model, tap=tap, tools=(SpawnAgent(),)) as acp_:
        acp_.editor.answer = answering(chosen("allow"), chosen("reject"))
        await acp_.prompt(await acp_.session())
        assert [asked.title for asked in acp_.editor.asked] == ["agent/child: tap", "agent/child: tap"]
        assert len({asked.tool_call_id for asked in acp_.editor.asked} | {"1.1.call-1"}) == 3
        assert len(tap.taps) == 1


async def test_a_question_can_be_cancelled_at_any_moment():
    for seed in range(RACE_TIMES):
        chance, tap = random.Random(seed), TapTool()  # noqa: S311  where it stops

        async def answer(chance=chance):
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            return chosen("allow")

        async with served(Moves(agent=[call("tap"), finish()]), tap=tap) as acp_:
            acp_.editor.answer = answer
            session = await acp_.session()
            prompting = acp_.prompt(session)
            await acp_.editor.until(lambda: acp_.editor.asked)
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            await acp_.connection.cancel(session_id=session)
            assert (await prompting).stop_reason in ("cancelled", "end_turn")
            status = {"aborted_before_dispatch": 0, "aborted": 0, "done": 1}[results(acp_.agents[0])[0][1]]
            assert len(tap.taps) == status
