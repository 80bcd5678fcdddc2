import re

import pytest

from tests.workers.run.far_side import LOGIN, PNG, FarDevice, Run, actions_of, node, run, screen, unreadable
from workers.device.actions import (
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
from workers.device.outcome import ErrorCode, Failed

pytestmark = pytest.mark.anyio

APP = "com.example.app"


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("- launchApp", LaunchApp(APP, clear_state=False, stop_first=True)),
        ("- launchApp: {clearState: true, stopApp: false}", LaunchApp(APP, clear_state=True, stop_first=False)),
        ("- stopApp", StopApp(APP)),
        ("- killApp", StopApp(APP)),
        ("- tapOn: Login", Tap(200, 300)),
        ("- tapOn: {point: '50%,25%'}", Tap(500, 500)),
        ("- tapOn: {point: '7,8'}", Tap(7, 8)),
        ("- tapOn: {text: Login, point: '0%,100%'}", Tap(100, 399)),
        ("- tapOn: {text: Login, point: '5,6'}", Tap(105, 206)),
        ("- doubleTapOn: Login", DoubleTap(200, 300)),
        ("- longPressOn: Login", LongPress(200, 300)),
        ("- inputText: hello", InputText("hello")),
        ("- eraseText", EraseText(50)),
        ("- eraseText: 3", EraseText(3)),
        ("- back", PressKey("KEYCODE_BACK")),
        ("- pressKey: Volume Up", PressKey("KEYCODE_VOLUME_UP")),
        ("- hideKeyboard", HideKeyboard()),
        ("- scroll", Swipe(500, 1000, 500, 200, 400)),
        ("- swipe: {direction: UP}", Swipe(500, 1000, 500, 200, 400)),
        ("- swipe: {direction: DOWN}", Swipe(500, 400, 500, 1800, 400)),
        ("- swipe: {direction: LEFT, duration: 50}", Swipe(900, 1000, 100, 1000, 50)),
        ("- swipe: {direction: RIGHT}", Swipe(100, 1000, 900, 1000, 400)),
        ("- swipe: {direction: RIGHT, from: Login}", Swipe(200, 300, 900, 300, 400)),
        ("- swipe: {direction: UP, from: Login}", Swipe(200, 300, 200, 200, 400)),
        ("- swipe: {start: '10%,20%', end: '100%,100%'}", Swipe(100, 400, 999, 1999, 400)),
        ("- swipe: {start: '1,2', end: '3,4'}", Swipe(1, 2, 3, 4, 400)),
    ],
)  # fmt: skip
async def test_a_command_is_this_action(command, action):
    assert await actions_of(command) == [action]


async def test_only_the_part_of_an_element_that_is_on_the_screen_is_tapped():
    assert await actions_of("- tapOn: half", screen(node("half", bounds=(0, 1800, 100, 2600)))) == [Tap(50, 1900)]


async def test_a_tap_is_repeated_as_often_as_it_says():
    assert await actions_of("- tapOn: {text: Login, repeat: 3, delay: 0}") == [Tap(200, 300)] * 3


async def test_a_tap_that_changed_nothing_is_repeated_once_where_that_is_wanted():
    tap = "- tapOn: {text: Login, retryTapIfNoChange: true}"
    assert await actions_of(tap) == [Tap(200, 300)] * 2
    assert await actions_of(tap, screen(LOGIN), screen(node("Welcome"))) == [Tap(200, 300)]
    assert await actions_of("- tapOn: Login") == [Tap(200, 300)]


async def test_a_tap_waits_for_its_element():
    assert await actions_of("- tapOn: Login", screen(), unreadable(), screen(LOGIN)) == [Tap(200, 300)]


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("inputRandomEmail", r"[a-z.]+\d{4}@example\.com"),
        ("inputRandomPersonName", "[A-Z][a-z]+ [A-Z][a-z]+"),
        ("inputRandomNumber", r"\d{8}"),
        ("inputRandomNumber: {length: 3}", r"\d{3}"),
        ("inputRandomText", "[a-z0-9]{8}"),
        ("inputRandomText: 20", "[a-z0-9]{20}"),
    ],
)
async def test_made_up_text_has_its_form(command, pattern):
    (action,) = await actions_of(f"- {command}")
    assert re.fullmatch(pattern, action.text)


async def test_made_up_texts_differ():
    first, second = await actions_of("- inputRandomText: 30\n- inputRandomText: 30")
    assert first != second


async def test_what_is_visible_is_visible_and_what_is_not_is_not():
    assert (await run("- assertVisible: Login\n- assertNotVisible: Logout")).status == "done"


async def test_asserting_what_is_not_there_says_what_the_screen_shows():
    device = FarDevice(screen(LOGIN, node("geheim", states="password")))
    reason = (await run("- assertVisible: Logout", device)).failure_reason
    assert 'no element with text "Logout", within 0.1 s; the screen shows "Login"' in reason
    assert "geheim" not in reason


async def test_asserting_that_something_is_gone_waits_for_it_to_go():
    assert (await run("- assertNotVisible: Login", FarDevice(screen(LOGIN), screen()))).status == "done"
    assert "still visible" in (await run("- assertNotVisible: Login")).failure_reason


async def test_a_screen_that_cannot_be_read_is_not_an_empty_screen():
    result = await run("- assertNotVisible: Login", FarDevice(unreadable()))
    assert (result.status, result.cause) == ("failed", "task")
    assert "no idle state (tree_unavailable)" in result.failure_reason


async def test_a_screen_that_cannot_be_read_because_the_device_is_gone_is_infrastructure():
    result = await run("- assertVisible: Login", FarDevice(unreadable(ErrorCode.DEVICE_OFFLINE)))
    assert (result.status, result.cause) == ("failed", "infrastructure")


async def test_what_a_device_does_not_show_after_it_was_away_is_infrastructure():
    away = unreadable(ErrorCode.TRANSPORT_LOST)
    result = await run("- assertVisible: Login", FarDevice(screen(), away, screen(node("Home"))))
    assert (result.status, result.cause) == ("failed", "infrastructure")
    assert 'the screen shows "Home"; the device was away meanwhile' in result.failure_reason
    assert (await run("- assertVisible: Login", FarDevice(screen(), away, screen(LOGIN)))).status == "done"


async def test_an_extended_wait_has_its_own_time():
    result = await run("- extendedWaitUntil: {visible: Logout, timeout: 20}")
    assert "within 0.02 s" in result.failure_reason
    assert (await run("- extendedWaitUntil: {visible: Login, notVisible: Logout}")).status == "done"
    assert "still visible" in (await run("- extendedWaitUntil: {notVisible: Login, timeout: 20}")).failure_reason


async def test_waiting_for_animations_ends_when_two_looks_are_the_same_or_the_time_is_up():
    device = FarDevice(screen(node("1")), screen(node("2")), unreadable(), screen(node("3")))
    assert (await run("- waitForAnimationToEnd", device)).status == "done"
    assert device.looks == 5
    restless = FarDevice(*(screen(node(str(number))) for number in range(10_000)))
    assert (await run("- waitForAnimationToEnd: {timeout: 50}", restless)).status == "done"
    assert restless.looks < 10_000


async def test_scrolling_goes_on_until_the_element_is_wholly_visible():
    cut = screen(node("Terms", bounds=(0, 1900, 100, 2100)))
    actions = await actions_of("- scrollUntilVisible: {element: Terms}", screen(), cut, screen(node("Terms")))
    assert actions == [Swipe(500, 1000, 500, 200, 601)] * 2
    half = await actions_of(
        "- scrollUntilVisible: {element: Terms, visibilityPercentage: 50, speed: 100}", screen(), cut
    )
    assert half == [Swipe(500, 1000, 500, 200, 1)]


@pytest.mark.parametrize(
    ("direction", "end"), [("DOWN", (500, 200)), ("UP", (500, 1800)), ("RIGHT", (100, 1000)), ("LEFT", (900, 1000))]
)
async def test_scrolling_reveals_what_is_in_its_direction(direction, end):
    command = f"- scrollUntilVisible: {{element: Terms, direction: {direction}}}"
    (action,) = await actions_of(command, screen(), screen(node("Terms")))
    assert (action.to_x_px, action.to_y_px) == end


async def test_scrolling_to_the_middle_gives_up_at_the_end_of_the_list():
    low = screen(node("Terms", bounds=(0, 1900, 100, 2000)))
    assert len(await actions_of("- scrollUntilVisible: {element: Terms, centerElement: true}", low)) == 4
    middle = screen(node("Terms", bounds=(0, 950, 100, 1050)))
    assert await actions_of("- scrollUntilVisible: {element: Terms, centerElement: true}", middle) == []


async def test_scrolling_ends_with_its_time():
    result = await run("- scrollUntilVisible: {element: Terms, timeout: 30}")
    assert 'no element with text "Terms", after scrolling down for 0.03 s' in result.failure_reason


async def test_screenshots_get_names_of_their_own():
    made = Run("- takeScreenshot: home\n- repeat: {times: 2, commands: [{takeScreenshot: home}]}", FarDevice())
    result = await made.end()
    assert result.artifacts == ("home.png", "home-2.png", "home-3.png")
    assert made.artifacts["home.png"] == (PNG, "image/png")


async def test_a_screenshot_that_cannot_be_had_fails_its_step():
    picture = Failed(ErrorCode.SCREENSHOT_UNAVAILABLE, "black")
    result = await run("- takeScreenshot: home", FarDevice(picture=picture))
    assert "black (screenshot_unavailable)" in result.failure_reason
    assert result.warnings == ("no screenshot of the failure: black (screenshot_unavailable)",)
