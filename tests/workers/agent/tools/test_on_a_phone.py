"""The tools on an emulated phone behind a real adb server, as the phone's own app and log see them."""

import asyncio
import time

import pytest

from tests.workers.agent.tools.calls import Toolbox, point, text
from workers.agent.cancellation import TurnInterrupted
from workers.device.device import Device
from workers.phone.faults import Fault, FaultKind

pytestmark = pytest.mark.anyio


def sent(phone, beginning: str) -> list[str]:
    return [command for command in phone.log.commands() if command.startswith(beginning)]


def state(phone) -> dict:
    return phone.display.front.values


async def form(box) -> None:
    assert (await box.call("tap", target=text("New note"))).status == "done"


async def test_a_form_is_filled_in_and_submitted(box):
    await form(box)
    for field, value in (("title", "Milk & bread"), ("body", "Two of 'each'"), ("tag", "shop"), ("author", "Ann")):
        outcome = await box.call("input_text", text=value, target={"id": field})
        assert outcome.status == "done", outcome.text
    assert (await box.call("input_text", secret="CODE", target={"id": "code"})).status == "done"
    assert (await box.call("hide_keyboard")).status == "done"
    screen = await box.observe()
    assert (await box.call("tap", target=screen.target("Save note"))).status == "done"
    screen = await box.observe()
    assert any('"1 notes saved"' in line for line in screen.lines)
    assert any('"Latest: Milk & bread"' in line for line in screen.lines)


async def test_an_observation_tells_each_element_in_one_line(box):
    screen = await box.observe()
    assert screen.first == "observation_id: o-1 · 1080x2400 px · app dev.corral.notes · keyboard hidden"
    assert any(line.startswith("[2] ") for line in screen.lines)
    (button,) = [line for line in screen.lines if "New note" in line]
    assert button.split("] ", 1)[1].startswith('Button "New note" id=new_note clickable @')
    assert any('ImageButton "Settings" id=open_settings clickable' in line for line in screen.lines)
    assert screen.outcome.images == {}


async def test_a_field_tells_its_hint_and_its_states(box):
    await form(box)
    await box.call("tap", target=text("Title"))
    screen = await box.observe()
    assert screen.first.endswith("keyboard shown")
    (line,) = [line for line in screen.lines if "id=title" in line]
    assert ' clickable focused editable hint="Title" @' in line
    (line,) = [line for line in screen.lines if "id=code" in line]
    assert " clickable password editable hint=" in line


async def test_a_screenshot_is_passed_on_as_the_phone_made_it(box):
    screen = await box.observe(screenshot=True)
    (picture,) = screen.outcome.images.values()
    assert picture.startswith(b"\x89PNG")


async def test_switches_lists_and_long_presses_work(box, phone):
    await box.call("tap", target={"id": "open_settings"})
    screen = await box.observe()
    await box.call("tap", target=screen.target('"Dark mode"'))
    screen = await box.observe()
    assert " checked" in next(line for line in screen.lines if "id=dark" in line)
    await box.call("press_key", key="back")
    await box.call("tap", target=text("Counter"))
    await box.call("double_tap", target={"id": "more"})
    assert (await box.call("read_text", target={"id": "count"})).text == 'text: "2"'
    held = await box.call("long_press", target={"id": "reset"}, duration_ms=700)
    assert (held.status, "for 700 ms" in held.text) == ("done", True)
    assert (await box.call("read_text", target={"id": "count"})).text == 'text: "0"'


async def test_a_list_is_scrolled_by_what_is_to_come_into_sight(box):
    await box.call("tap", target=text("Library"))
    assert (await box.call("wait_for", target=text("Entry 30"), timeout_ms=0)).code == "timeout"
    for _ in range(8):
        await box.call("scroll", reveal="down", target={"id": "list"})
    assert (await box.call("wait_for", target=text("Entry 30"), timeout_ms=0)).status == "done"
    for _ in range(8):
        await box.call("scroll", reveal="up")
    assert (await box.call("wait_for", target=text("Entry 1"), timeout_ms=0)).status == "done"


async def test_a_swipe_goes_where_the_finger_goes(box, phone):
    await box.call("tap", target=text("Library"))
    await box.call("tap", target={"id": "entry_1"})
    assert (await box.call("wait_for", target=text("Entry 2"), timeout_ms=0)).code == "timeout"
    await box.call("swipe", finger="right", distance=60)
    assert (await box.call("wait_for", target=text("Entry 2"))).status == "done"
    await box.call("swipe", **{"from": point(50, 80, "percent"), "to": point(500, 100, "norm1000")})
    assert sent(phone, "input swipe")[-1] == "input swipe 540 1920 540 240 400"


async def test_a_point_outside_of_the_screen_is_refused_and_not_moved_to_its_edge(box, phone):
    await box.observe()
    taps = sent(phone, "input tap")
    for outside in (
        point(1080, 10),
        point(10, 2400),
        point(-1, 10),
        point(0.5, -0.5),
        point(1000.5, 1, "norm1000"),
        point(-1, 5, "norm1000"),
        point(50, 101, "percent"),
    ):
        outcome = await box.call("tap", target=outside)
        assert (outcome.status, outcome.code) == ("failed", "out_of_bounds"), outside
    outcome = await box.call("swipe", finger="left", distance=60, target=point(10, 10))
    assert outcome.code == "out_of_bounds"
    assert sent(phone, "input tap") == taps
    assert sent(phone, "input swipe")[-1:] != ["input swipe 10 10 0 10 400"]


async def test_every_space_of_coordinates_reaches_the_same_point(box, phone):
    for middle in (point(540, 1200), point(500, 500, "norm1000"), point(50, 50, "percent")):
        await box.call("tap", target=middle)
    assert sent(phone, "input tap")[-3:] == ["input tap 540 1200"] * 3
    await box.call("tap", target=point(1000, 1000, "norm1000"))
    assert sent(phone, "input tap")[-1] == "input tap 1079 2399"


async def test_an_index_of_an_old_observation_taps_nowhere(box, phone):
    first = await box.observe()
    second = await box.observe()
    taps = sent(phone, "input tap")
    outcome = await box.call("tap", target=first.target("New note"))
    assert (outcome.status, outcome.code) == ("failed", "stale_observation")
    assert "o-2" in outcome.text
    await box.call("press_key", key="home")
    outcome = await box.call("tap", target=second.target("New note"))
    assert outcome.code == "stale_observation"
    assert sent(phone, "input tap") == taps


async def test_a_secret_reaches_the_phone_and_nobody_else(box, phone):
    await form(box)
    outcomes = [
        await box.call("input_text", secret="CODE", target={"id": "title"}),
        await box.call("input_text", secret="CODE", target={"id": "code"}),
        await box.call("hide_keyboard"),
        await box.call("observe"),
        await box.call("read_text", target={"id": "title"}),
        await box.call("tap", target=text("tr0ub4dor&3")),
        await box.call("wait_for", target=text("Nowhere"), timeout_ms=0),
        await box.call("note", text="I saw tr0ub4dor&3"),
        await box.call("open_url", url="corral://tr0ub4dor&3"),
    ]
    assert any("tr0ub4dor&3" in command for command in sent(phone, "input text"))
    for outcome in outcomes:
        assert "tr0ub" not in repr(outcome)
    assert outcomes[0].text.startswith('done: tapped EditText id=title hint="Title"')
    assert "typed the secret CODE" in outcomes[0].text
    assert '"[secret CODE]" id=title' in outcomes[3].text
    assert "•" in next(line for line in outcomes[3].text.split("\n") if "id=code" in line)
    assert outcomes[4].text == 'text: "[secret CODE]"'
    assert box.notes == ["I saw [secret CODE]"]


async def test_a_secret_of_another_task_is_not_typed(box, phone):
    for name in ("OF_ANOTHER", "NOBODYS", 'x"\ny'):
        outcome = await box.call("input_text", secret=name, target=text("New note"))
        assert (outcome.status, outcome.code) == ("failed", "unknown_secret")
        assert "it has CODE" in outcome.text
    assert sent(phone, "input text") == [] or "nobody" not in str(sent(phone, "input text"))


async def test_a_field_is_cleared_and_overwritten(box):
    await form(box)
    await box.call("input_text", text="wrong", target={"id": "title"})
    assert (await box.call("input_text", text="right", clear=True)).status == "done"
    assert (await box.call("read_text", target={"id": "title"})).text == 'text: "right"'
    assert (await box.call("clear_text", target={"id": "title"})).status == "done"
    cleared = await box.call("clear_text")
    assert (cleared.status, "found the field empty" in cleared.text) == ("done", True)
    screen = await box.observe()
    assert any('EditText id=title clickable focused editable hint="Title"' in line for line in screen.lines)


async def test_a_text_that_the_phone_cannot_type_is_refused_with_what_to_do(box):
    await form(box)
    outcome = await box.call("input_text", text="caf\N{LATIN SMALL LETTER E WITH ACUTE}", target={"id": "title"})
    assert (outcome.status, outcome.code) == ("failed", "text_unsupported")
    assert "printable ASCII" in outcome.text
    assert "This was done before: tapped EditText id=title" in outcome.text


async def test_text_that_did_not_arrive_is_not_taken_for_typed(box, phone):
    await form(box)
    phone.faults.add(Fault(FaultKind.OUTPUT, match="input text*"))
    outcome = await box.call("input_text", text="lost", target={"id": "title"}, submit=True)
    assert (outcome.status, outcome.code) == ("failed", "text_not_applied")
    assert 'holds ""' in outcome.text
    assert sent(phone, "input keyevent KEYCODE_ENTER") == []


async def test_enter_is_pressed_after_the_text_was_read_back(box, phone):
    await form(box)
    outcome = await box.call("input_text", text="Milk", target={"id": "title"}, submit=True)
    assert outcome.status == "done"
    assert sent(phone, "input keyevent")[-1] == "input keyevent KEYCODE_ENTER"


async def test_a_url_and_stopping_an_app_work(box, phone):
    assert (await box.call("open_url", url="corral://notes/settings")).status == "done"
    assert (await box.call("wait_for", target=text("Dark mode"))).status == "done"
    assert (await box.call("open_url", url="file:///sdcard/x")).code == "invalid_url"
    assert (await box.call("stop_app", package="dev.corral.notes")).status == "done"
    assert phone.display.front is None
    assert (await box.call("launch_app", package="com.example.missing")).code == "app_not_installed"


async def test_a_phone_that_refuses_input_says_so_and_is_not_asked_again(box, phone):
    taps = len(sent(phone, "input tap"))
    phone.faults.add(Fault(FaultKind.INPUT_NOT_PERMITTED))
    outcome = await box.call("tap", target=text("New note"))
    assert (outcome.status, outcome.code) == ("failed", "input_not_permitted")
    assert "do not try again" in outcome.text
    assert len(sent(phone, "input tap")) == taps + 1


async def test_a_tap_whose_answer_was_lost_is_unknown_and_not_repeated(box, phone):
    taps = len(sent(phone, "input tap"))
    phone.faults.add(Fault(FaultKind.DROP, match="input tap*", after=True))
    outcome = await box.call("tap", target=text("New note"))
    assert (outcome.status, outcome.code) == ("unknown", "transport_lost")
    assert "It may have happened; observe before you decide. It was not repeated." in outcome.text
    assert len(sent(phone, "input tap")) == taps + 1


async def test_a_device_whose_lease_is_lost_is_told_by_its_code_and_not_touched(phone, notes_server, adb_server):
    device = Device(server=adb_server, transport_serial=notes_server.address, may_touch=lambda: False)
    box, told = Toolbox(device), len(phone.log.entries)
    for name, arguments in (
        ("observe", {}),
        ("observe", {"screenshot": True}),
        ("tap", {"target": point(1, 1)}),
        ("tap", {"target": text("x")}),
        ("input_text", {"text": "x"}),
        ("wait_for", {"target": text("x")}),
    ):
        outcome = await box.call(name, **arguments)
        assert (outcome.status, outcome.code) == ("failed", "lease_lost"), name
    await device.close()
    assert len(phone.log.entries) == told


async def test_a_wait_for_something_ends_at_once_when_the_turn_is_interrupted(box, phone):
    waiting = asyncio.create_task(box.call("wait_for", target=text("Nowhere"), timeout_ms=20_000))
    looks = len(sent(phone, "uiautomator"))
    while len(sent(phone, "uiautomator")) < looks + 2:  # noqa: ASYNC110  the phone sets no event
        await asyncio.sleep(0.01)
    began = time.monotonic()
    box.cancel()
    with pytest.raises(TurnInterrupted):
        await waiting
    assert time.monotonic() - began < 1
    told = len(phone.log.entries)
    await asyncio.sleep(0.1)
    assert len(phone.log.entries) == told


async def test_a_screen_that_shows_up_late_is_waited_for(box):
    await box.call("tap", target=text("Statistics"))
    assert (await box.call("wait_for", target={"id": "total"}, timeout_ms=5000)).status == "done"
    gone = await box.call("wait_for", target=text("New note"), state="gone", timeout_ms=0)
    assert gone.status == "done"
