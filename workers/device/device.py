"""A device as a run uses it: actions in, outcomes out."""

from collections.abc import Callable
from typing import Protocol, assert_never

from workers.device.actions import (
    Action,
    ClearApp,
    DoubleTap,
    EraseText,
    HideKeyboard,
    InputText,
    LaunchApp,
    LongPress,
    OpenUrl,
    PressKey,
    StopApp,
    Swipe,
    Tap,
)
from workers.device.call_threads import CallThreads
from workers.device.facts import DeviceFacts, read_facts
from workers.device.keyboard import erase_text, hide_keyboard, press_key
from workers.device.launch import clear_app, launch_app, stop_app
from workers.device.link import open_url
from workers.device.look import Eyes
from workers.device.observation import Observation
from workers.device.outcome import Failed, Outcome
from workers.device.screen import Screen
from workers.device.screenshot import take_screenshot_png
from workers.device.shell import Shell
from workers.device.text import type_text
from workers.device.touch import double_tap, long_press, swipe, tap


class Server(Protocol):
    """Where the adb server listens. It may have moved after a restart, so it is asked for each call."""

    @property
    def port(self) -> int: ...


class Device:
    """One device for one run; close it when the run has ended.

    Calls run one after the other in a thread of their own, each with a total deadline. Cancelling the awaiting task
    takes effect after the call in flight has ended. `may_touch` is asked in that thread, immediately before each
    command is sent; if it says no, nothing is sent and the outcome is `Failed` with `lease_lost`.
    """

    def __init__(self, *, server: Server, transport_serial: str, may_touch: Callable[[], bool]) -> None:
        self.transport_serial = transport_serial
        self._shell = Shell(lambda: server.port, transport_serial, may_touch)
        self._screen = Screen(self._shell)
        self._eyes = Eyes(self._shell, self._screen)
        self._threads = CallThreads(f"device-{transport_serial}", limit=1)

    async def perform(self, action: Action) -> Outcome:
        """Does it once, and never again by itself: an `Unknown` may have happened."""
        return await self._threads.run(lambda: self._perform(action))

    async def observe(self) -> Observation:
        """Looks at the screen. Where the tree cannot be had, the observation says why."""
        return await self._threads.run(self._eyes.observe)

    async def screenshot_png(self) -> bytes | Failed:
        """The screen as the phone's own PNG."""
        return await self._threads.run(lambda: take_screenshot_png(self._shell))

    async def read_facts(self) -> DeviceFacts | Failed:
        """What the phone says about itself now."""
        return await self._threads.run(lambda: read_facts(self._shell))

    async def close(self) -> None:
        """Removes what observing may have left on the phone, as far as it may be touched, and ends the thread."""
        if not self._threads.is_closed:
            await self._threads.run(self._eyes.forget)
            self._threads.close()

    def _perform(self, action: Action) -> Outcome:  # noqa: C901, PLR0911 - one line for each action
        match action:
            case Tap():
                return tap(self._shell, self._screen, action)
            case DoubleTap():
                return double_tap(self._shell, self._screen, action)
            case LongPress():
                return long_press(self._shell, self._screen, action)
            case Swipe():
                return swipe(self._shell, self._screen, action)
            case InputText(text):
                return type_text(self._shell, text)
            case EraseText(characters):
                return erase_text(self._shell, characters)
            case PressKey(key):
                return press_key(self._shell, key)
            case HideKeyboard():
                return hide_keyboard(self._shell)
            case LaunchApp():
                return launch_app(self._shell, action)
            case StopApp(package):
                return stop_app(self._shell, package)
            case ClearApp(package):
                return clear_app(self._shell, package)
            case OpenUrl(url):
                return open_url(self._shell, url)
        assert_never(action)
