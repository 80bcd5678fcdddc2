"""Typing: what is read back, and what is told when it ends in the middle."""

import pytest
from pydantic import ValidationError

from tests.workers.agent.tools.calls import Toolbox, text
from tests.workers.run.far_side import FarDevice, node, screen, unreadable
from workers.agent.cancellation import TurnInterrupted
from workers.agent.task_secrets import Secrets
from workers.agent.tools import fields
from workers.device.actions import EraseText, InputText, PressKey, Tap
from workers.device.outcome import Done, ErrorCode, Failed, Unknown

pytestmark = pytest.mark.anyio

SECRETS = Secrets({"PASS": "hunter2hunter2"})
MIDDLE = Tap(500, 1000)


def field(value="", *, hint="Name", states="focused", **more):
    return screen(node(value, class_name="a.EditText", hint=hint, states=states, **more))


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(fields, "READ_BACK_PAUSE_SECONDS", 0.01)


@pytest.mark.parametrize(
    "arguments", [{}, {"text": "a", "secret": "b"}, {"text": ""}, {"text": 5}, {"text": "a", "clear": "yes"}]
)
async def test_exactly_one_of_text_and_secret_is_typed(arguments):
    with pytest.raises(ValidationError):
        await Toolbox(FarDevice()).call("input_text", **arguments)


async def test_a_field_that_shows_the_text_a_moment_later_is_waited_for():
    box = Toolbox(FarDevice(field(), field("Ann  Smith")))
    assert (await box.call("input_text", text="Ann Smith")).status == "done"
    assert box.device.looks == 2


async def test_a_password_field_is_not_read_back():
    box = Toolbox(FarDevice(field("••", states="focused password")), secrets=SECRETS)
    assert (await box.call("input_text", secret="PASS")).status == "done"
    assert box.device.looks == 1


@pytest.mark.parametrize("seen", [unreadable(), screen(node("no field")), field(states="")])
async def test_what_cannot_be_read_back_is_done_and_says_so(seen):
    outcome = await Toolbox(FarDevice(seen)).call("input_text", text="Ann")
    assert outcome.status == "done"
    assert "found no field with the focus to read it back from" in outcome.text


async def test_what_was_typed_of_a_secret_is_not_shown():
    box = Toolbox(FarDevice(field("hunter2h")), secrets=SECRETS)
    outcome = await box.call("input_text", secret="PASS")
    assert (outcome.status, outcome.code) == ("failed", "text_not_applied")
    assert "hunter" not in repr(outcome)


@pytest.mark.parametrize("ending", [Failed, Unknown])
async def test_the_words_of_the_device_about_a_secret_are_withheld(ending):
    box = Toolbox(FarDevice(outcomes=[ending(ErrorCode.COMMAND_FAILED, "input text hunter2hun…")]), secrets=SECRETS)
    outcome = await box.call("input_text", secret="PASS")
    assert (outcome.status, outcome.code) == (ending.__name__.lower(), "command_failed")
    assert "hunter" not in repr(outcome)
    assert "withheld" in outcome.text


async def test_clearing_deletes_as_much_as_there_is():
    box = Toolbox(FarDevice(field("Ann"), field("Bob")))
    assert (await box.call("input_text", text="Bob", clear=True)).status == "done"
    assert box.device.actions == [PressKey("KEYCODE_MOVE_END"), EraseText(3), InputText("Bob")]


async def test_clearing_needs_a_field():
    box = Toolbox(FarDevice(screen(node("no field"))))
    for name, arguments in (("clear_text", {}), ("input_text", {"text": "x", "clear": True})):
        outcome = await box.call(name, **arguments)
        assert (outcome.status, outcome.code) == ("failed", "no_such_element")
    assert box.device.actions == []


async def test_a_field_that_stays_full_is_not_taken_for_cleared():
    outcome = await Toolbox(FarDevice(field("Ann"))).call("clear_text")
    assert (outcome.status, outcome.code) == ("failed", "text_not_applied")
    assert 'still holds "Ann"' in outcome.text


async def test_an_interrupted_call_that_did_nothing_raises():
    box = Toolbox(FarDevice(field()))
    box.cancel()
    for name, arguments in (
        ("input_text", {"text": "x"}),
        ("tap", {"target": text("x")}),
        ("observe", {}),
        ("wait", {"ms": 1}),
    ):
        with pytest.raises(TurnInterrupted):
            await box.call(name, **arguments)
    box = Toolbox(FarDevice(field()))
    box.device.on_look = box.cancel
    with pytest.raises(TurnInterrupted):
        await box.call("input_text", text="x", target={"text": "Name"})
    assert box.device.actions == []


@pytest.mark.parametrize("actions", [1, 2, 3, 4])
async def test_an_interrupted_call_says_how_far_it_came(actions):
    box = Toolbox(FarDevice(field("Ann"), field("Ann"), field("Bob")))
    box.device.on_action = lambda number: number == actions and box.cancel()
    outcome = await box.call("input_text", text="Bob", clear=True, submit=True, target={"text": "Ann"})
    assert (outcome.status, outcome.code) == ("aborted", "aborted")
    assert len(box.device.actions) == actions
    told = ["tapped EditText", "moved the cursor", "cleared the field", 'typed "Bob"', "pressed enter"]
    assert [deed in outcome.text for deed in told] == [number < actions for number in range(5)]
    assert outcome.text.endswith("The rest was not.")
    assert outcome.repeat_key is not None


async def test_what_was_done_in_full_is_done_though_the_turn_was_interrupted():
    box = Toolbox(FarDevice(field("Bob")))
    box.device.on_action = lambda number: number == 2 and box.cancel()
    assert (await box.call("input_text", text="Bob", submit=True)).status == "done"


async def test_a_call_that_fails_on_its_way_says_what_was_done_before():
    box = Toolbox(FarDevice(field("x"), outcomes=[Done(), Unknown(ErrorCode.TIMEOUT, "no answer")]))
    outcome = await box.call("input_text", text="Ann", target={"text": "x"})
    assert (outcome.status, outcome.code) == ("unknown", "timeout")
    assert outcome.text == (
        "unknown (timeout): no answer. It may have happened; observe before you decide. It was not repeated. "
        'This was done before: tapped EditText "x" at (500, 1000).'
    )
    assert box.device.actions == [MIDDLE, InputText("Ann")]


async def test_nothing_is_sent_after_the_time_budget_has_ended():
    box = Toolbox(FarDevice(field()), wall_seconds=0)
    outcome = await box.call("input_text", text="Ann")
    assert (outcome.status, outcome.code) == ("failed", "timeout")
    assert (box.device.actions, box.device.looks) == ([], 0)
