"""What all tools have in common: names, schemas, words for each outcome, waits, and keys of repeated actions."""

import asyncio
import json
import time

import pytest
from pydantic import ValidationError

from tests.workers.agent.tools.calls import Toolbox, point, text
from tests.workers.run.far_side import LOGIN, FarDevice, node, screen, unreadable
from workers.agent.cancellation import TurnInterrupted
from workers.agent.task_secrets import Secrets
from workers.agent.tools.failures import ADVICE
from workers.agent.tools.note import MAX_NOTES
from workers.agent.tools.tool import Finish
from workers.device.outcome import ErrorCode, Failed, Unknown

pytestmark = pytest.mark.anyio

READ_ONLY = {"observe", "wait", "wait_for", "read_text", "note", "finish"}
MUTATING = {
    *("tap", "double_tap", "long_press", "swipe", "scroll", "input_text", "clear_text"),
    *("press_key", "hide_keyboard", "launch_app", "stop_app", "open_url"),
}


def test_the_tools_have_the_names_that_people_know():
    tools = Toolbox(FarDevice()).tools
    assert set(tools) == READ_ONLY | MUTATING
    assert {name for name, tool in tools.items() if tool.is_read_only} == READ_ONLY


@pytest.mark.parametrize("name", sorted(READ_ONLY | MUTATING))
async def test_arguments_are_told_by_a_schema_and_others_are_refused(name):
    box = Toolbox(FarDevice())
    schema = box.tools[name].arguments.model_json_schema()
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert json.dumps(schema)
    assert box.tools[name].description
    with pytest.raises(ValidationError):
        await box.call(name, surprise=1)


@pytest.mark.parametrize("code", list(ErrorCode))
async def test_every_code_of_a_device_has_words_for_what_to_try_next(code):
    outcome = await Toolbox(FarDevice(outcomes=[Failed(code, "it said no")])).call("press_key", key="back")
    assert (outcome.status, outcome.code) == ("failed", code)
    assert outcome.text == f"failed ({code}): it said no. {ADVICE[code]}"
    outcome = await Toolbox(FarDevice(outcomes=[Unknown(code, "lost")])).call("press_key", key="back")
    assert (outcome.status, outcome.code) == ("unknown", code)
    assert "It was not repeated." in outcome.text


async def test_an_action_that_was_refused_for_its_place_leaves_the_indices_good():
    box = Toolbox(FarDevice(outcomes=[Failed(ErrorCode.OUT_OF_BOUNDS, "outside"), Unknown(ErrorCode.TIMEOUT, "lost")]))
    shown = await box.observe()
    login = shown.target("Login")
    assert (await box.call("tap", target=point(5000, 1))).code == "out_of_bounds"
    assert (await box.call("tap", target=login)).status == "unknown"
    assert (await box.call("tap", target=login)).code == "stale_observation"
    assert len(box.device.actions) == 2


@pytest.mark.parametrize("key", ["Back", "KEYCODE_", "keycode_back", "KEYCODE_BACK; reboot", "66", ""])
async def test_a_key_that_nobody_knows_is_refused(key):
    with pytest.raises(ValidationError):
        await Toolbox(FarDevice()).call("press_key", key=key)


# Repeated actions


async def key_of(box, name: str, **arguments) -> str | None:
    await box.observe()
    return (await box.call(name, **arguments)).repeat_key


async def test_the_same_action_on_the_same_screen_has_the_same_key_whatever_names_it():
    box = Toolbox(FarDevice(screen(LOGIN)))
    by_index = [(await box.call("tap", target=(await box.observe()).target("Login"))).repeat_key for _ in range(2)]
    targets = (text("Login"), point(200, 300), point(20, 15, "percent"))
    keys = {*by_index, *[await key_of(box, "tap", target=target) for target in targets]}
    assert len(keys) == 1
    assert keys != {None}


async def test_another_action_or_another_screen_has_another_key():
    box = Toolbox(FarDevice(screen(LOGIN), screen(LOGIN), screen(LOGIN), screen(LOGIN, node("Welcome"))))
    calls = [
        ("tap", point(200, 300)),
        ("tap", point(200, 301)),
        ("double_tap", point(200, 300)),
        ("tap", point(200, 300)),
    ]
    keys = [await key_of(box, name, target=target) for name, target in calls]
    keys += [await key_of(box, "input_text", text=typed) for typed in ("a", "b")]
    assert None not in keys
    assert len(set(keys)) == len(keys)


async def test_actions_in_a_row_without_a_look_have_no_key_for_nobody_knows_what_they_changed():
    box = Toolbox(FarDevice(screen(LOGIN)))
    assert await key_of(box, "press_key", key="delete") is not None
    assert (await box.call("press_key", key="delete")).repeat_key is None
    assert (await box.call("tap", target=point(200, 300))).repeat_key is None


async def test_what_changes_nothing_has_no_key_and_what_failed_has_one():
    box = Toolbox(FarDevice())
    for name, arguments in (
        ("observe", {}),
        ("wait", {"ms": 0}),
        ("note", {"text": "x"}),
        ("read_text", {"target": text("x")}),
    ):
        assert (await box.call(name, **arguments)).repeat_key is None
    for other, target in ((box, text("Nowhere")), (Toolbox(FarDevice(unreadable())), point(1, 1))):
        first, second = [await key_of(other, "tap", target=target) for _ in range(2)]
        assert first == second is not None


async def test_a_secret_is_a_name_in_a_key_too():
    keys = []
    for value in ("first value", "second value"):
        box = Toolbox(FarDevice(), secrets=Secrets({"PASS": value}))
        keys.append(await key_of(box, "input_text", secret="PASS"))
    assert keys[0] == keys[1] is not None


# Waits


async def test_a_wait_ends_at_once_when_the_turn_is_interrupted_and_leaves_nothing_behind():
    box = Toolbox(FarDevice())
    tasks = asyncio.all_tasks()
    asyncio.get_running_loop().call_later(0.02, box.cancel)
    for name, arguments in (("wait", {"ms": 60_000}), ("wait_for", {"target": text("x"), "timeout_ms": 60_000})):
        began = time.monotonic()
        with pytest.raises(TurnInterrupted):
            await box.call(name, **arguments)
        assert time.monotonic() - began < 1
    # The adb server of these tests has tasks of its own.
    assert [task for task in asyncio.all_tasks() - tasks if "workers/agent" in repr(task)] == []


async def test_a_wait_ends_with_the_time_budget():
    box = Toolbox(FarDevice(), wall_seconds=0.05)
    outcome = await box.call("wait", ms=60_000)
    assert (outcome.status, outcome.code) == ("failed", "timeout")
    box = Toolbox(FarDevice(), wall_seconds=0.05)
    outcome = await box.call("wait_for", target=text("x"), timeout_ms=60_000)
    assert "the time budget has ended" in outcome.text


async def test_a_wait_that_was_not_disturbed_is_done():
    assert (await Toolbox(FarDevice()).call("wait", ms=10)).text == "done: waited 10 ms."


@pytest.mark.parametrize("arguments", [{"ms": 60_001}, {"ms": -1}, {"ms": 1.5}, {"ms": True}, {"ms": "5"}])
async def test_a_wait_has_limits(arguments):
    with pytest.raises(ValidationError):
        await Toolbox(FarDevice()).call("wait", **arguments)


async def test_a_wait_that_was_for_nothing_says_what_is_there():
    outcome = await Toolbox(FarDevice()).call("wait_for", target=text("Welcome"), timeout_ms=0)
    assert (outcome.status, outcome.code) == ("failed", "timeout")
    assert "it is not so that text 'Welcome' is visible; the screen shows \"Login\"" in outcome.text


async def test_nothing_is_gone_from_a_screen_that_cannot_be_read():
    outcome = await Toolbox(FarDevice(unreadable())).call("wait_for", target=text("x"), state="gone", timeout_ms=0)
    assert (outcome.status, outcome.code) == ("failed", "timeout")
    assert "could not be read (tree_unavailable): no idle state" in outcome.text


async def test_a_device_that_is_gone_is_not_waited_for():
    box = Toolbox(FarDevice(unreadable(ErrorCode.LEASE_LOST)))
    assert (await box.call("wait_for", target=text("x"), timeout_ms=60_000)).code == "lease_lost"


# Notes and the end


async def test_notes_are_remembered_without_the_device():
    box = Toolbox(FarDevice())
    await box.call("note", text="price 5")
    outcome = await box.call("note", text="price 6")
    assert outcome.text == "done: noted. All notes:\n1. price 5\n2. price 6"
    assert box.notes == ["price 5", "price 6"]
    assert (box.device.looks, box.device.actions) == (0, [])
    for number in range(MAX_NOTES):
        await box.call("note", text=f"n{number}")
    assert box.notes == [f"n{number}" for number in range(MAX_NOTES)]


@pytest.mark.parametrize("status", ["success", "failure", "infeasible"])
async def test_finishing_ends_the_goal_with_what_the_agent_claims(status):
    box = Toolbox(FarDevice(), secrets=Secrets({"PASS": "hunter2"}))
    outcome = await box.call("finish", status=status, message="logged in with hunter2", output={"user": ["hunter2"]})
    assert outcome.finish == Finish(status, "logged in with [secret PASS]", {"user": ["[secret PASS]"]})
    assert outcome.status == "done"


async def test_notes_and_the_end_do_not_happen_after_a_cancel():
    box = Toolbox(FarDevice())
    box.cancel()
    for name, arguments in (("note", {"text": "x"}), ("finish", {"status": "success", "message": "x"})):
        with pytest.raises(TurnInterrupted):
            await box.call(name, **arguments)
    assert box.notes == []
