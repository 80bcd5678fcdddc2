"""One signal from the first seam of a turn to its last, a fresh one in the next, and the agent's identity at each."""

import asyncio
import contextvars

import pytest

from tests.workers.agent.logs import assert_balanced, assert_replays
from tests.workers.agent.scripted import ScriptedModel
from tests.workers.agent.seams import SEAMS, Seams
from workers.agent.agent import Agent
from workers.agent.budget import Budget
from workers.agent.cancellation import CancelSignal, TurnCancellation
from workers.agent.hooks import Hooks, Waterfall
from workers.agent.place import Place
from workers.agent.session.events import Aborted, Completed, TurnEnd
from workers.agent.turn import Turn

pytestmark = pytest.mark.anyio

#: A turn has its end before these; a cancel there changes nothing of it.
AFTER_THE_END = {"turn_end"}
OPEN = [seam for seam in SEAMS if seam not in AFTER_THE_END]
WATERFALLS = [seam for seam in SEAMS if isinstance(getattr(Hooks(), seam, None), Waterfall)]


class Waiting:
    """Waits on the signal at one seam, the first time that a turn comes by."""

    def __init__(self, seam: str, *, gives_up: bool = False) -> None:
        self._seam = seam
        self._gives_up = gives_up
        self.reached = asyncio.Event()

    async def __call__(self, seam: str, signal: CancelSignal) -> None:
        if seam == self._seam and not self.reached.is_set():
            self.reached.set()
            await signal.wait()
            if self._gives_up:
                signal.check()


async def interrupted_at(seam: str, *, gives_up: bool, on_the_way_back: bool = False) -> tuple[Agent, Seams]:
    waiting = Waiting(seam, gives_up=gives_up)
    seams = Seams(waiting, on_the_way_back=on_the_way_back)
    agent = seams.agent()
    prompt = agent.prompt("touch it")
    await waiting.reached.wait()
    assert seams.running == [seam]
    agent.cancel()
    outcome = await prompt.outcome()
    await agent.when_idle()
    assert outcome.kind == ("completed" if seam in AFTER_THE_END else "aborted")
    return agent, seams


@pytest.mark.parametrize("gives_up", [False, True], ids=["and goes on", "and gives up"])
@pytest.mark.parametrize("seam", OPEN)
async def test_a_listener_that_waits_on_the_signal_settles_and_the_turn_ends_aborted(seam, gives_up):
    agent, seams = await interrupted_at(seam, gives_up=gives_up)
    assert seams.running == []
    ends = [event.end for event in agent.session.events if isinstance(event, TurnEnd)]
    assert ends == [Aborted()]
    assert_balanced(agent.session.events)
    assert_replays(agent.session.events, agent.model.requests, agent.model.log_lengths)


@pytest.mark.parametrize("seam", WATERFALLS)
async def test_a_listener_that_brings_its_result_after_the_signal_fired_does_not_carry_the_turn_on(seam):
    agent, seams = await interrupted_at(seam, gives_up=False, on_the_way_back=True)
    assert seams.seen[-2:] == [seam, "turn_end"]
    recorded = [event.event for event in agent.session.events]
    # An answer and the result of a call are kept: those have happened.
    assert recorded[-1] == "turn/end"
    assert (recorded[-2] == "step/end") == (seam not in {"prompt_submission", "session_prefix"})
    if seam == "prompt_submission":
        assert recorded == ["session/start", "turn/start", "turn/end"]
    assert_balanced(agent.session.events)


@pytest.mark.parametrize("seam", OPEN)
async def test_after_the_seam_at_which_the_turn_was_cancelled_only_its_end_is_announced(seam):
    _, seams = await interrupted_at(seam, gives_up=False)
    assert seams.seen[-1] == "turn_end"
    assert seams.seen[-2] == seam
    assert set(seams.seen[:-1]) == set(SEAMS[: SEAMS.index(seam) + 1])


@pytest.mark.parametrize("seam", SEAMS)
async def test_one_signal_is_seen_at_all_seams_of_a_turn_and_a_fresh_one_in_the_next(seam):
    agent, seams = await interrupted_at(seam, gives_up=False)
    (first,) = set(seams.signals)
    assert first.is_aborted
    seams.visits.clear()
    assert (await agent.prompt("again").outcome()).kind == "completed"
    (second,) = set(seams.signals)
    assert set(seams.seen) == set(SEAMS)
    assert second is not first
    assert not second.is_aborted
    assert second.reason is None


async def test_a_cancel_that_meets_the_announcement_of_the_end_leaves_the_end_as_it_was():
    agent, seams = await interrupted_at("turn_end", gives_up=True)
    assert seams.running == []
    ends = [event.end for event in agent.session.events if isinstance(event, TurnEnd)]
    assert ends == [Completed()]


@pytest.mark.parametrize("seam", SEAMS)
async def test_at_every_seam_the_identity_is_the_agent_and_the_context_holds_no_right_over_the_turn(seam):
    held: list[object] = []

    async def look_round(_seam: str, _signal: CancelSignal) -> None:
        if _seam == seam:
            held.extend(contextvars.copy_context().values())

    seams = Seams(look_round)
    agent = seams.agent()
    await agent.prompt("touch it").outcome()
    assert {identity for _, _, identity in seams.visits} == {agent}
    assert [value for value in held if isinstance(value, Agent)] == [agent] * seams.seen.count(seam)
    assert not any(isinstance(value, CancelSignal | TurnCancellation | Turn | Place | Budget) for value in held)


@pytest.mark.parametrize("seam", SEAMS)
async def test_a_disposal_reaches_every_seam_and_decides_the_end(seam):
    waiting = Waiting(seam)
    seams = Seams(waiting)
    agent = seams.agent()
    prompt = agent.prompt("touch it")
    await waiting.reached.wait()
    await agent.dispose()
    assert (agent.status, seams.running) == ("disposed", [])
    assert (await prompt.outcome()).kind == ("completed" if seam in AFTER_THE_END else "disposed")
    assert_balanced(agent.session.events)


@pytest.mark.parametrize("seam", OPEN)
async def test_a_listener_that_ignores_the_signal_is_awaited_before_idle_is_reported(seam):
    may_end, reached = asyncio.Event(), asyncio.Event()

    async def ignore(at: str, _signal: CancelSignal) -> None:
        if at == seam:
            reached.set()
            await may_end.wait()

    seams = Seams(ignore)
    agent = seams.agent()
    prompt = agent.prompt("touch it")
    await reached.wait()
    agent.cancel()
    idle = asyncio.create_task(agent.when_idle())
    for _ in range(20):
        await asyncio.sleep(0)
    assert (idle.done(), agent.status, seam in seams.running) == (False, "running", True)
    may_end.set()
    await idle
    assert (agent.status, seams.running) == ("idle", [])
    assert (await prompt.outcome()).kind == "aborted"


@pytest.mark.parametrize("seam", OPEN)
async def test_a_defect_in_a_listener_ends_the_turn_as_failed_and_the_log_stays_balanced(seam, logged):
    async def fail(at: str, _signal: CancelSignal) -> None:
        if at == seam:
            raise ZeroDivisionError("a secret of the listener")

    seams = Seams(fail)
    agent = seams.agent()
    outcome = await agent.prompt("touch it").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "defect")
    assert "ZeroDivisionError" in (outcome.message or "")
    assert "a secret of the listener" not in "".join(event.model_dump_json() for event in agent.session.events)
    assert [entry["event"] for entry in logged] == ["agent.turn_failed"]
    assert_balanced(agent.session.events)


@pytest.mark.parametrize("seam", OPEN)
async def test_a_defect_that_comes_of_the_stop_is_not_the_end_of_the_turn(seam):
    """Our own stop makes calls fail; the cause decides, not the error."""

    async def fail_when_stopped(at: str, signal: CancelSignal) -> None:
        if at == seam:
            agent.cancel()
            await signal.wait()
            raise ConnectionResetError("the stream was closed")

    seams = Seams(fail_when_stopped)
    agent = seams.agent()
    assert (await agent.prompt("touch it").outcome()).kind == "aborted"
    assert_balanced(agent.session.events)


async def test_the_listeners_of_one_seam_share_the_signal_and_none_is_asked_after_it_fired():
    seams = Seams(Waiting("nowhere"))
    hooks = seams.hooks()
    seen: list[CancelSignal] = []

    async def cancels(agent, _place, value, signal, go_on):
        seen.append(signal)
        agent.cancel()
        return await go_on(value)

    async def listens(_agent, _place, value, signal, go_on):
        seen.append(signal)
        return await go_on(value)

    hooks.step_result.add(cancels)
    hooks.step_result.add(listens)
    model = ScriptedModel()
    agent = Agent(model, hooks=hooks)
    assert (await agent.prompt("go").outcome()).kind == "aborted"
    assert seen == [model.signals[0]]


async def test_of_several_listeners_of_a_step_none_is_told_after_the_signal_fired():
    async def cancels(agent, _place, _signal):
        agent.cancel()

    told: list[object] = []

    async def listens(_agent, place, _signal):
        told.append(place)

    hooks = Hooks()
    hooks.pre_step.add(cancels)
    hooks.pre_step.add(listens)
    model = ScriptedModel()
    assert (await Agent(model, hooks=hooks).prompt("go").outcome()).kind == "aborted"
    assert (model.requests, told) == ([], [])
