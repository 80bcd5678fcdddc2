"""The display: which apps are installed, which run, which is in front, and what all of it looks like now."""

from dataclasses import dataclass, field, replace

from workers.phone.app import keyboard, metrics
from workers.phone.app.description import AppDescription
from workers.phone.app.launcher import launcher_frame
from workers.phone.app.placed import Bounds, Frame
from workers.phone.app.running import RunningApp
from workers.phone.app.words import Value
from workers.phone.clock import monotonic_seconds


@dataclass(slots=True)
class Installed:
    """An app on the phone, with what it has saved."""

    description: AppDescription
    saved: dict[str, Value] = field(default_factory=dict[str, Value])

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.saved.clear()
        self.saved.update(self.description.saved)


class Display:
    def __init__(self, apps: list[AppDescription]) -> None:
        self.bounds = Bounds(0, 0, metrics.DISPLAY_WIDTH_PX, metrics.DISPLAY_HEIGHT_PX)
        self.installed = {app.package: Installed(app) for app in apps}
        self.running: dict[str, RunningApp] = {}
        self.is_on = True
        self._front: str | None = None
        self.is_keyboard_up = False
        self.is_shifted = False

    @property
    def front(self) -> RunningApp | None:
        """The app on the display; None when it is the launcher."""
        return self.running.get(self._front) if self._front else None

    @property
    def is_keyboard_shown(self) -> bool:
        return self.is_keyboard_up and self.front is not None and self.front.focus is not None

    def start_app(self, package: str, *, link: str = "") -> None:
        """Bring an installed app to the front, as it was if it still runs."""
        now = monotonic_seconds()
        self.is_keyboard_up = False
        installed = self.installed[package]
        if package not in self.running:
            self.running[package] = RunningApp(installed.description, installed.saved, now=now)
        self._front = package
        screens = [name for prefix, name in installed.description.links.items() if link.startswith(prefix)]
        if link and screens:
            self.running[package].open_screen(screens[0], now=now)

    def stop_app(self, package: str) -> None:
        """End an app; its state is gone, what it saved is not."""
        self.running.pop(package, None)
        if self._front == package:
            self.go_home()

    def clear_app(self, package: str) -> None:
        """End an app and forget what it saved."""
        self.stop_app(package)
        self.installed[package].clear()

    def go_home(self) -> None:
        self._front = None
        self.is_keyboard_up = False

    def focus_on(self, variable: str) -> None:
        """Give the focus to the field of that variable, and show the keyboard."""
        if self.front is not None:
            self.front.focus = variable
            self.is_keyboard_up = True

    def frame(self) -> Frame:
        """What is on the display now; a toast and the keyboard are part of it."""
        now = monotonic_seconds()
        self.settle()
        app = self.front
        if app is None:
            return launcher_frame([installed.description for installed in self.installed.values()], self.bounds)
        frame = app.frame(self.bounds, now=now)
        return self._with_keyboard(frame) if self.is_keyboard_shown else frame

    def settle(self) -> None:
        """Let what is due happen, also in apps that are not in front."""
        now = monotonic_seconds()
        for package, app in list(self.running.items()):
            app.settle(now)
            if app.is_finished:
                self.stop_app(package)

    def _with_keyboard(self, frame: Frame) -> Frame:
        keys = keyboard.keyboard(display=self.bounds, is_shifted=self.is_shifted)
        (root,) = frame.roots
        focused = next((node for node in root.walk() if node.is_focused), None)
        hidden_px = max(0, focused.bounds.bottom + metrics.GAP_PX - keys.bounds.top) if focused else 0
        area = replace(self.bounds, bottom=keys.bounds.top)
        moved = root.moved(-hidden_px).clipped(area)
        return replace(frame, roots=(moved, keys) if moved else (keys,))
