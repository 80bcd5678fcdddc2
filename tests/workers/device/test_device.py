"""The whole driver against an emulated phone: what is done, what is seen, and what is refused."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.workers.device.waiting import is_listed, until
from workers.device.actions import (
    ClearApp,
    DoubleTap,
    EraseText,
    HideKeyboard,
    InputText,
    LaunchApp,
    LongPress,
    PressKey,
    StopApp,
    Swipe,
    Tap,
)
from workers.device.device import Device
from workers.device.observation import Node, TreeMissing
from workers.device.outcome import Done, ErrorCode, Failed, Unknown
from workers.phone.adbd.connection import LinkState
from workers.phone.app.description import load_app
from workers.phone.faults import Fault, FaultKind
from workers.phone.phone import Phone

pytestmark = pytest.mark.anyio

PACKAGE = "com.corral.notes"
NOTES = load_app(Path(__file__).parent / "apps" / "notes.yaml")


@pytest.fixture
def phone() -> Phone:
    return Phone("PHONE", apps=[NOTES])


@pytest.fixture
async def notes(device) -> AsyncIterator[Device]:
    """The device, with the app on the screen."""
    assert await device.perform(LaunchApp(PACKAGE)) == Done()
    return device


async def nodes_on(device) -> list[Node]:
    tree = (await device.observe()).tree
    assert isinstance(tree, Node), tree
    return list(tree.walk())


async def find(device, resource_id: str) -> Node:
    return next(node for node in await nodes_on(device) if node.resource_id.endswith(f"id/{resource_id}"))


async def touch(device, resource_id: str, action=Tap, **more):
    x_px, y_px = (await find(device, resource_id)).bounds.center_px
    return await device.perform(action(x_px, y_px, **more))


async def write_into_note(device, text: str):
    await touch(device, "note")
    return await device.perform(InputText(text))


def sent(phone, beginning: str) -> list[str]:
    return [command for command in phone.log.commands() if command.startswith(beginning)]


# Touching


async def test_a_tap_a_long_press_and_a_double_tap_are_what_the_app_sees(notes):
    assert await touch(notes, "target") == Done()
    assert await touch(notes, "target", LongPress, duration_ms=600) == Done()
    assert await touch(notes, "target", DoubleTap) == Done()
    assert "longs 1 doubles 1" in (await find(notes, "counts")).text


async def test_a_tap_is_one_command_once_the_screen_is_known(notes, phone):
    await notes.observe()
    before = len(phone.log.entries)
    await notes.perform(Tap(5, 5))
    assert phone.log.commands()[before:] == ["input tap 5 5"]


async def test_a_swipe_takes_its_time(device, phone):
    assert await device.perform(Swipe(100, 2000, 100, 500, duration_ms=250)) == Done()
    assert sent(phone, "input") == ["input swipe 100 2000 100 500 250"]


@pytest.mark.parametrize(
    "action",
    [Tap(1080, 5), Tap(5, 2400), Tap(-1, 5), DoubleTap(0, 99_999), LongPress(-5, -5), Swipe(5, 5, 5, 2400)],
)
async def test_a_point_outside_the_screen_is_refused_and_not_moved_to_its_edge(device, phone, action):
    outcome = await device.perform(action)
    assert isinstance(outcome, Failed)
    assert outcome.code is ErrorCode.OUT_OF_BOUNDS
    assert "outside the screen of 1080x2400" in outcome.message
    assert sent(phone, "input") == []


async def test_the_edges_are_inside(device):
    assert await device.perform(Swipe(0, 0, 1079, 2399)) == Done()


async def test_a_phone_that_was_turned_is_asked_again_before_a_point_is_refused(device, phone):
    await device.observe()
    sideways = "Physical size: 1080x2400\n"
    phone.faults.add(Fault(FaultKind.OUTPUT, match="wm size", output=sideways, times=None))
    phone.faults.add(Fault(FaultKind.OUTPUT, match="dumpsys display", output="  orientation=1, x", times=None))
    assert await device.perform(Tap(2000, 500)) == Done()
    refused = await device.perform(Tap(500, 2000))
    assert refused == Failed(ErrorCode.OUT_OF_BOUNDS, "(500, 2000) lies outside the screen of 2400x1080 pixels")


@pytest.mark.parametrize("duration_ms", [-1, 20_001])
async def test_a_finger_stays_for_a_sensible_time(device, phone, duration_ms):
    outcome = await device.perform(LongPress(5, 5, duration_ms=duration_ms))
    assert outcome.code is ErrorCode.COMMAND_FAILED
    assert sent(phone, "input") == []


# Keys and text


@pytest.mark.parametrize(
    "text",
    [
        "hello world",
        'it\'s "quoted" $HOME `id` \\ ; & | * ? # ~ ! ( ) < > { } [ ]',
        "100%safe %s %%s %d",
        "-leading dash",
        "very" * 98 + "longemail@mobile.dev",
        "a'b" * 400,
    ],
)
async def test_printable_ascii_is_typed_exactly(notes, text):
    assert await write_into_note(notes, text) == Done()
    assert (await find(notes, "note")).text == text


@pytest.mark.parametrize("text", ["é", "two\nlines", "tab\t", "\x00", "smile \U0001f600", "x" * 10_001])
async def test_text_that_cannot_be_typed_is_refused_before_anything_is_sent(notes, phone, text):
    before = sent(phone, "input text")
    outcome = await notes.perform(InputText(text))
    assert isinstance(outcome, Failed)
    assert outcome.code is ErrorCode.TEXT_UNSUPPORTED
    assert sent(phone, "input text") == before


async def test_no_text_is_typed_without_a_command(device, phone):
    assert await device.perform(InputText("")) == Done()
    assert sent(phone, "input") == []


async def test_a_text_that_broke_off_says_how_much_was_typed(notes, phone):
    phone.faults.add(Fault(FaultKind.DROP, match="input text*", skip=1))
    outcome = await write_into_note(notes, "x" * 1200)
    assert isinstance(outcome, Unknown)
    assert "after 500 of 1200 characters had been typed" in outcome.message


async def test_erasing_is_one_command_for_many_characters(notes, phone):
    await write_into_note(notes, "testing")
    assert await notes.perform(EraseText(3)) == Done()
    assert (await find(notes, "note")).text == "test"
    assert sent(phone, "input keyevent") == ["input keyevent 67 67 67"]


async def test_erasing_more_than_there_is_empties_the_field(notes):
    await write_into_note(notes, "testing")
    assert await notes.perform(EraseText(300)) == Done()
    assert (await find(notes, "note")).text == "Note", "an empty field shows its hint"


@pytest.mark.parametrize("characters", [-1, 10_001])
async def test_erasing_has_limits(device, characters):
    assert "0 to 10000" in (await device.perform(EraseText(characters))).message


async def test_keys_are_pressed_by_name(notes, phone):
    assert await notes.perform(PressKey("KEYCODE_HOME")) == Done()
    assert phone.display.front is None


@pytest.mark.parametrize("key", ["", "back", "KEYCODE_BACK; reboot", "--longpress", "KEYCODE_NO_SUCH_KEY"])
async def test_a_key_that_does_not_exist_is_a_failure(device, key):
    assert isinstance(await device.perform(PressKey(key)), Failed)


async def test_the_keyboard_is_hidden_by_back_but_only_when_it_is_shown(notes, phone):
    await touch(notes, "note")
    assert (await notes.observe()).is_keyboard_shown
    assert await notes.perform(HideKeyboard()) == Done()
    assert not (await notes.observe()).is_keyboard_shown
    assert isinstance(await notes.perform(HideKeyboard()), Done)
    assert sent(phone, "input keyevent") == ["input keyevent 4"]
    assert phone.display.front is not None


# Apps


async def test_launching_stops_and_clears_only_when_asked(notes, phone):
    await touch(notes, "target")
    assert await notes.perform(LaunchApp(PACKAGE, stop_first=False)) == Done()
    assert "taps 1" in (await find(notes, "counts")).text
    assert await notes.perform(LaunchApp(PACKAGE)) == Done()
    assert "taps 0" in (await find(notes, "counts")).text
    phone.display.installed[PACKAGE].saved["kept"] = "something"
    assert await notes.perform(LaunchApp(PACKAGE, clear_state=True)) == Done()
    assert (await find(notes, "kept")).text == "kept nothing"


async def test_launching_a_missing_app_says_so_and_starts_nothing(device, phone):
    outcome = await device.perform(LaunchApp("com.nonexistent", clear_state=True))
    assert outcome == Failed(ErrorCode.APP_NOT_INSTALLED, "com.nonexistent is not installed on this device")
    assert phone.log.actions == []


@pytest.mark.parametrize("package", ["", "-n", "com.example; reboot", "com..x", "../x"])
async def test_what_is_no_package_is_not_sent(device, phone, package):
    for action in (LaunchApp(package), StopApp(package), ClearApp(package)):
        assert (await device.perform(action)).code is ErrorCode.APP_NOT_INSTALLED
    assert phone.log.commands() == []


async def test_an_app_without_a_launcher_activity_is_not_launchable(device, phone):
    phone.faults.add(Fault(FaultKind.OUTPUT, match="cmd package*", output="No activity found\n"))
    assert (await device.perform(LaunchApp(PACKAGE))).code is ErrorCode.APP_NOT_LAUNCHABLE


async def test_an_app_that_refuses_to_start_is_not_launchable(device, phone):
    phone.faults.add(
        Fault(FaultKind.OUTPUT, match="am start*", output="java.lang.SecurityException: Permission Denial")
    )
    outcome = await device.perform(LaunchApp(PACKAGE))
    assert outcome.code is ErrorCode.APP_NOT_LAUNCHABLE
    assert "Permission Denial" in outcome.message


async def test_an_app_that_never_comes_to_the_front_is_not_launchable(device, phone, monkeypatch):
    monkeypatch.setattr("workers.device.launch.FOREGROUND_DEADLINE_SECONDS", 0.3)
    phone.faults.add(Fault(FaultKind.OUTPUT, match="am start*", output="Starting: Intent { }\n"))
    outcome = await device.perform(LaunchApp(PACKAGE))
    assert outcome.code is ErrorCode.APP_NOT_LAUNCHABLE
    assert "in front is com.google.android.apps.nexuslauncher" in outcome.message


async def test_an_app_behind_its_question_for_a_permission_has_started(device, phone):
    question = "  mCurrentFocus=Window{1 u0 com.google.android.permissioncontroller/com.android.Grant}\n"
    phone.faults.add(Fault(FaultKind.OUTPUT, match="dumpsys window*", output=question))
    assert await device.perform(LaunchApp(PACKAGE)) == Done()


async def test_stopping_an_app_ends_it(notes, phone):
    assert await notes.perform(StopApp(PACKAGE)) == Done()
    assert phone.display.running == {}


async def test_clearing_an_app_forgets_what_it_saved(notes, phone):
    phone.display.installed[PACKAGE].saved["kept"] = "something"
    assert isinstance(await notes.perform(ClearApp(PACKAGE)), Done)
    assert phone.display.installed[PACKAGE].saved["kept"] == "nothing"


async def test_clearing_a_missing_app_says_so(device):
    assert (await device.perform(ClearApp("com.nonexistent"))).code is ErrorCode.APP_NOT_INSTALLED


# Seeing


async def test_an_observation_has_the_tree_the_size_and_the_keyboard(notes):
    seen = await notes.observe()
    assert (seen.width_px, seen.height_px, seen.is_keyboard_shown) == (1080, 2400, False)
    assert "red & <green>" in [node.text for node in seen.tree.walk()]
    assert (await notes.observe()).observation_id != seen.observation_id


async def test_an_observation_is_one_command_line_and_leaves_no_file(notes, phone):
    await notes.observe()
    before = len(phone.log.entries)
    await notes.observe()
    names = [command.split()[0] for command in phone.log.commands()[before:]]
    assert names == ["uiautomator", "cat", "rm", "echo", "dumpsys"]
    assert [name for name, _ in phone.files.children("/data/local/tmp")] == []


async def test_what_the_screen_shows_is_not_taken_for_the_end_of_the_dump(notes):
    await write_into_note(notes, "corral-end-of-dump")
    assert (await find(notes, "note")).text == "corral-end-of-dump"


async def test_each_run_dumps_into_a_file_of_its_own(adb_server, served, phone):
    for _ in range(2):
        device = Device(server=adb_server, transport_serial=served.address, may_touch=lambda: True)
        await device.observe()
        await device.close()
    assert len(set(sent(phone, "uiautomator dump"))) == 2


async def test_a_dump_that_failed_is_tried_again(notes, phone):
    phone.faults.add(Fault(FaultKind.NOT_IDLE, times=2))
    assert isinstance((await notes.observe()).tree, Node)


async def test_a_dump_that_fails_again_and_again_is_no_empty_screen(device, phone, monkeypatch):
    monkeypatch.setattr("workers.device.look._PAUSE_SECONDS", 0.01)
    phone.faults.add(Fault(FaultKind.NOT_IDLE, times=None))
    seen = await device.observe()
    assert isinstance(seen.tree, TreeMissing)
    assert seen.tree.code is ErrorCode.TREE_UNAVAILABLE
    assert "could not get idle state" in seen.tree.message
    assert len(sent(phone, "uiautomator dump")) == 4


@pytest.mark.parametrize("printed", ["Killed\n", "", "UI hierchary dumped to: /x\n<?xml version='1.0'?><hierarchy rot"])
async def test_a_dump_that_broke_off_is_tried_again(device, phone, printed):
    phone.faults.add(Fault(FaultKind.OUTPUT, match="cat *", output=printed))
    assert isinstance((await device.observe()).tree, Node)


async def test_what_a_lost_dump_left_behind_is_removed_at_the_end(device, phone):
    phone.faults.add(Fault(FaultKind.DROP, match="cat *"))
    assert (await device.observe()).tree.code is ErrorCode.TRANSPORT_LOST
    assert len(phone.files.children("/data/local/tmp")) == 1
    await until(lambda: reaches(device))
    await device.close()
    assert phone.files.children("/data/local/tmp") == []


async def reaches(device) -> bool:
    return isinstance(await device.perform(PressKey("KEYCODE_VOLUME_UP")), Done)


async def test_a_screenshot_is_the_picture_as_the_phone_made_it(notes, phone):
    phone.faults.add(Fault(FaultKind.DISPLAY_WARNING))
    picture = await notes.screenshot_png()
    assert picture.startswith(b"\x89PNG")
    assert picture.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("kind", [FaultKind.GARBAGE, FaultKind.OUTPUT])
async def test_a_screenshot_that_failed_is_a_failure(device, phone, kind):
    phone.faults.add(Fault(kind, match="screencap*"))
    assert (await device.screenshot_png()).code is ErrorCode.SCREENSHOT_UNAVAILABLE


# How it can end


async def test_a_tap_whose_answer_was_lost_is_unknown_and_not_repeated(notes, phone):
    target = await find(notes, "target")
    phone.faults.add(Fault(FaultKind.DROP, match="input tap*", after=True))
    outcome = await notes.perform(Tap(*target.bounds.center_px))
    assert isinstance(outcome, Unknown)
    assert len(sent(phone, "input tap")) == 1


async def test_a_phone_that_refuses_input_is_told_apart_and_not_asked_again(device, phone):
    phone.faults.add(Fault(FaultKind.INPUT_NOT_PERMITTED, times=None))
    assert (await device.perform(Tap(5, 5))).code is ErrorCode.INPUT_NOT_PERMITTED
    assert (await device.perform(InputText("x" * 1200))).code is ErrorCode.INPUT_NOT_PERMITTED
    assert len(sent(phone, "input")) == 2


async def test_an_unauthorized_phone_fails_as_infrastructure(device, adb_server, served, phone):
    phone.link_state = LinkState.UNAUTHORIZED
    await until(lambda: is_listed(adb_server, served.address, "unauthorized"))
    outcome = await device.perform(Tap(5, 5))
    assert outcome.code is ErrorCode.DEVICE_UNAUTHORIZED
    assert outcome.code.is_infrastructure
    seen = await device.observe()
    assert seen.tree.code is ErrorCode.DEVICE_UNAUTHORIZED
    assert (await device.screenshot_png()).code is ErrorCode.DEVICE_UNAUTHORIZED


# The lease


async def test_every_command_asks_for_the_lease_in_the_thread_that_sends_it(adb_server, served, phone):
    asked: list[str] = []

    def may_touch() -> bool:
        asked.append(threading.current_thread().name)
        return len(asked) <= 2

    device = Device(server=adb_server, transport_serial=served.address, may_touch=may_touch)
    outcome = await device.perform(InputText("x" * 1700))
    await device.close()
    assert isinstance(outcome, Failed)
    assert outcome.code is ErrorCode.LEASE_LOST
    assert "after 1000 of 1700" in outcome.message
    assert len(sent(phone, "input text")) == 2
    assert all(name.startswith("device-") for name in asked)


async def test_nothing_at_all_is_sent_after_the_lease_has_ended(adb_server, served, phone):
    device = Device(server=adb_server, transport_serial=served.address, may_touch=lambda: False)
    actions = [Tap(1, 1), InputText("x"), EraseText(1), HideKeyboard(), LaunchApp(PACKAGE), StopApp(PACKAGE)]
    assert {(await device.perform(action)).code for action in actions} == {ErrorCode.LEASE_LOST}
    assert (await device.observe()).tree.code is ErrorCode.LEASE_LOST
    assert (await device.screenshot_png()).code is ErrorCode.LEASE_LOST
    await device.close()
    assert phone.log.commands() == []


async def test_a_cancel_waits_for_the_action_in_flight(device, phone):
    phone.faults.add(Fault(FaultKind.DELAY, match="input tap*", delay_ms=300))
    await device.observe()
    tapping = asyncio.create_task(device.perform(Tap(5, 5)))
    await until(lambda: sent(phone, "input tap"))
    tapping.cancel()
    tapping.cancel()
    await asyncio.gather(tapping, return_exceptions=True)
    assert tapping.cancelled()
    (entry,) = [entry for entry in phone.log.entries if entry.command.startswith("input tap")]
    assert entry.exit_code == 0


async def test_a_cancel_before_its_turn_drops_the_action(device, phone):
    phone.faults.add(Fault(FaultKind.DELAY, match="input tap 5 5", delay_ms=200))
    first = asyncio.create_task(device.perform(Tap(5, 5)))
    await until(lambda: sent(phone, "input tap"))
    second = asyncio.create_task(device.perform(Tap(6, 6)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert await first == Done()
    assert sent(phone, "input tap") == ["input tap 5 5"]


async def test_a_hanging_phone_holds_up_no_default_thread(device, phone, monkeypatch):
    monkeypatch.setattr("workers.device.touch.DEADLINE_SECONDS", 0.5)
    phone.faults.add(Fault(FaultKind.HANG, match="input tap*"))
    hanging = asyncio.create_task(device.perform(Tap(5, 5)))
    await until(lambda: sent(phone, "input tap"))
    started = time.monotonic()
    await asyncio.to_thread(lambda: None)
    assert time.monotonic() - started < 0.3
    assert isinstance(outcome := await hanging, Unknown)
    assert outcome.code is ErrorCode.TIMEOUT


async def test_closing_ends_the_thread(adb_server, served):
    device = Device(server=adb_server, transport_serial=served.address, may_touch=lambda: True)
    await device.observe()
    await device.close()
    name = f"device-{served.address}"
    await until(lambda: not any(thread.name.startswith(name) for thread in threading.enumerate()))
