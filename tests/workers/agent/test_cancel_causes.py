"""Who may be named as the one who cancels, and what a signal gives away."""

import asyncio
import copy
import dataclasses
import pickle
from collections import OrderedDict, UserDict
from types import MappingProxyType, SimpleNamespace

import pytest

from tests.workers.agent.scripted import Hang, scripted_agent
from workers.agent.cancellation import (
    DISPOSED,
    PARENT,
    USER,
    AgentCancelCause,
    CancelSignal,
    InvalidCancelCause,
    TurnCancellation,
    TurnInterrupted,
    agent_interrupt_reason_of,
    normalized_cause,
)

pytestmark = pytest.mark.anyio


class Kind(str):
    __slots__ = ()


class Cause(AgentCancelCause):
    pass


class Mapping(dict):
    pass


REFUSED = {
    "a string": "user",
    "nothing": None,
    "no field": {},
    "an unknown kind": {"kind": "timeout"},
    "the kind that only disposal makes": {"kind": "disposed"},
    "the reason that only disposal makes": DISPOSED,
    "an extra field": {"kind": "user", "reason": "impatience"},
    "a field that is no string": {"kind": "user", 1: 2},
    "another field": {"Kind": "user"},
    "a kind of another type": {"kind": b"user"},
    "a kind that is a list": {"kind": ["user"]},
    "a kind of a subclass": {"kind": Kind("user")},
    "a list": ["user"],
    "a list of pairs": [("kind", "user")],
    "a tuple": ("user",),
    "a subclass of our own class": Cause("user"),
    "our own class with an unknown kind": AgentCancelCause("timeout"),
    "our own class itself": AgentCancelCause,
    "an ordered mapping": OrderedDict(kind="user"),
    "a subclass of a mapping": Mapping(kind="user"),
    "a mapping of another class": UserDict(kind="user"),
    "a view of a mapping": MappingProxyType({"kind": "user"}),
    "an instance of another class": SimpleNamespace(kind="user"),
    "an exception": RuntimeError("user"),
    "the exception of the loop": TurnInterrupted(USER),
}


@pytest.mark.parametrize("cause", REFUSED.values(), ids=REFUSED)
async def test_a_cause_that_is_not_exactly_one_of_ours_is_refused_at_once_even_when_idle(cause):
    agent, _ = scripted_agent()
    with pytest.raises(InvalidCancelCause):
        agent.cancel(cause)
    assert agent.status == "idle"


async def test_a_signal_is_no_cause():
    agent, _ = scripted_agent()
    for signal in (CancelSignal(), TurnCancellation(), TurnCancellation().signal):
        with pytest.raises(InvalidCancelCause):
            agent.cancel(signal)


@pytest.mark.parametrize("cause", REFUSED.values(), ids=REFUSED)
async def test_a_refused_cause_neither_interrupts_the_turn_nor_drops_what_is_queued(cause):
    hang = Hang("a")
    agent, model = scripted_agent(hang)
    running, queued = agent.prompt("one"), agent.prompt("two")
    await hang.reached.wait()
    with pytest.raises(InvalidCancelCause):
        agent.cancel(cause)
    assert not model.signals[0].is_aborted
    agent.cancel()
    assert (await queued.outcome()).kind == "dropped"
    assert (await running.outcome()).kind == "aborted"


async def test_the_refusal_does_not_show_what_was_passed():
    with pytest.raises(InvalidCancelCause) as refused:
        normalized_cause({"kind": "hunter2"})
    assert "hunter2" not in str(refused.value)
    assert "dict" in str(refused.value)


@pytest.mark.parametrize(
    ("passed", "kind"),
    [
        ({"kind": "user"}, "user"),
        ({"kind": "parent"}, "parent"),
        (USER, "user"),
        (AgentCancelCause("parent"), "parent"),
    ],
)
async def test_exactly_our_causes_are_accepted_and_come_back_as_our_frozen_values(passed, kind):
    cause = normalized_cause(passed)
    assert type(cause) is AgentCancelCause
    assert cause.kind == kind
    with pytest.raises(dataclasses.FrozenInstanceError):
        cause.kind = "disposed"  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(cause, "__dict__")


async def test_a_mapping_changed_after_the_call_does_not_change_the_stored_cause():
    hang = Hang()
    agent, model = scripted_agent(hang)
    prompt = agent.prompt("go")
    await hang.reached.wait()
    passed = {"kind": "parent"}
    agent.cancel(passed)
    passed["kind"] = "user"
    passed["more"] = "much"
    assert agent_interrupt_reason_of(model.signals[0]) == PARENT
    assert (await prompt.outcome()).reason == PARENT


async def test_a_cancel_without_a_cause_is_the_users():
    hang = Hang()
    agent, model = scripted_agent(hang)
    prompt = agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    assert model.signals[0].reason is USER
    assert (await prompt.outcome()).reason is USER


async def test_of_two_cancels_with_different_causes_the_first_wins():
    hang = Hang()
    agent, model = scripted_agent(hang)
    prompt = agent.prompt("go")
    await hang.reached.wait()
    agent.cancel(PARENT)
    agent.cancel(USER)
    assert model.signals[0].reason is PARENT
    assert (await prompt.outcome()).reason is PARENT


async def test_a_holder_tells_whether_it_was_the_first_reason():
    cancellation = TurnCancellation()
    assert cancellation.abort(USER)
    assert not cancellation.abort(DISPOSED)
    assert cancellation.signal.reason is USER


async def test_the_reason_is_read_from_the_signal_in_hand_and_from_nothing_else():
    hang = Hang()
    agent, _ = scripted_agent(hang)
    agent.prompt("go")
    await hang.reached.wait()
    agent.cancel()
    assert agent_interrupt_reason_of(CancelSignal()) is None
    other = TurnCancellation()
    other.abort(DISPOSED)
    assert agent_interrupt_reason_of(other.signal) is DISPOSED
    await agent.when_idle()


async def test_a_signal_wakes_all_who_wait_and_is_no_wait_afterwards():
    cancellation = TurnCancellation()
    waiting = [asyncio.create_task(cancellation.signal.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not cancellation.signal.is_aborted
    cancellation.signal.check()
    cancellation.abort(USER)
    await asyncio.gather(*waiting)
    await cancellation.signal.wait()
    with pytest.raises(TurnInterrupted) as interrupted:
        cancellation.signal.check()
    assert interrupted.value.reason is USER


async def test_callbacks_are_called_once_in_their_order_and_not_after_they_were_taken_away():
    cancellation = TurnCancellation()
    called: list[str] = []
    cancellation.signal.on_abort(lambda: called.append("first"))
    take_away = cancellation.signal.on_abort(lambda: called.append("gone"))
    cancellation.signal.on_abort(lambda: called.append("second"))
    take_away()
    take_away()
    cancellation.abort(USER)
    cancellation.abort(PARENT)
    assert called == ["first", "second"]


async def test_a_callback_that_comes_late_is_called_at_once():
    cancellation = TurnCancellation()
    cancellation.abort(USER)
    called: list[str] = []
    take_away = cancellation.signal.on_abort(lambda: called.append("late"))
    assert called == ["late"]
    take_away()


async def test_a_broken_callback_does_not_keep_the_cancel_from_the_others(logged):
    cancellation = TurnCancellation()
    called: list[str] = []
    cancellation.signal.on_abort(lambda: 1 / 0)
    cancellation.signal.on_abort(lambda: called.append("heard"))
    cancellation.abort(USER)
    assert called == ["heard"]
    assert [entry["event"] for entry in logged] == ["agent.abort_callback_failed"]


@pytest.mark.parametrize("store", [copy.copy, copy.deepcopy, pickle.dumps])
async def test_a_signal_cannot_be_copied_or_stored(store):
    with pytest.raises(TypeError, match="belongs to its turn"):
        store(CancelSignal())


async def test_a_signal_offers_no_way_to_fire_it():
    public = {name for name in dir(CancelSignal()) if not name.startswith("_")}
    assert public == {"check", "is_aborted", "on_abort", "reason", "wait"}
    with pytest.raises(AttributeError):
        CancelSignal().reason = USER  # pyright: ignore[reportAttributeAccessIssue]
