"""What each plain command does: one line for each, the exhaustive counterpart of the flow language's union."""

from typing import assert_never

from corral.flow.commands import app, checks, control, keys, swipes, taps, text
from corral.flow.commands.union import Command
from workers.device import actions
from workers.run import gestures, random_text
from workers.run.artifacts import Artifacts
from workers.run.failure import StepFailed
from workers.run.screen import Screen
from workers.run.waits import wait_extended, wait_for_still_screen


async def perform_command(command: Command, screen: Screen, artifacts: Artifacts) -> None:  # noqa: C901, PLR0912, PLR0915 - one branch for each command
    """Does one plain command. Raises `StepFailed` or `Interrupted`."""
    seconds = screen.times.optional_seconds if command.optional else screen.times.element_seconds
    match command:
        case app.LaunchApp():
            package = command.app_id or ""
            await screen.act(actions.LaunchApp(package, clear_state=command.clear_state, stop_first=command.stop_app))
        case app.StopApp() | app.KillApp():
            await screen.act(actions.StopApp(command.app_id or ""))
        case taps.TapOn():
            await gestures.tap_on(command, screen, seconds)
        case taps.DoubleTapOn():
            await gestures.double_tap_on(command, screen, seconds)
        case taps.LongPressOn():
            await gestures.long_press_on(command, screen, seconds)
        case swipes.Swipe():
            await gestures.swipe(command, screen, seconds)
        case swipes.Scroll():
            await gestures.scroll(screen, seconds)
        case swipes.ScrollUntilVisible():
            await gestures.scroll_until_visible(command, screen)
        case keys.Back():
            await screen.act(actions.PressKey(keys.KEY_CODES["back"]))
        case keys.PressKey():
            await screen.act(actions.PressKey(command.key_code))
        case keys.HideKeyboard():
            await screen.act(actions.HideKeyboard())
        case text.InputText():
            await screen.act(actions.InputText(command.text))
        case text.InputRandomEmail():
            await screen.act(actions.InputText(random_text.random_email()))
        case text.InputRandomNumber():
            await screen.act(actions.InputText(random_text.random_digits(command.length)))
        case text.InputRandomPersonName():
            await screen.act(actions.InputText(random_text.random_person_name()))
        case text.InputRandomText():
            await screen.act(actions.InputText(random_text.random_letters_and_digits(command.length)))
        case text.EraseText():
            await screen.act(actions.EraseText(command.characters))
        case checks.AssertVisible():
            await screen.find(command.selector, seconds=seconds)
        case checks.AssertNotVisible():
            await screen.wait_until_gone(command.selector, seconds=screen.times.optional_seconds)
        case checks.ExtendedWaitUntil():
            await wait_extended(command, screen)
        case checks.WaitForAnimationToEnd():
            await wait_for_still_screen(screen, seconds=command.timeout_ms / 1000)
        case checks.TakeScreenshot():
            await _take_screenshot(command, screen, artifacts)
        case control.RunFlow() | control.Repeat() | control.Retry():
            raise AssertionError(f"{command.command} is run by the runner itself")
        case _:
            assert_never(command)


async def _take_screenshot(command: checks.TakeScreenshot, screen: Screen, artifacts: Artifacts) -> None:
    content = await screen.device.screenshot_png()
    if not isinstance(content, bytes):
        raise StepFailed(f"{content.message} ({content.code})", code=content.code)
    await artifacts.add_png(command.name, content)
