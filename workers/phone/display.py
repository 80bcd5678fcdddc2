"""The display and what touches it: fingers and keys come in here, frames come out."""

import math
from dataclasses import dataclass, field, replace

from workers.phone.app import keyboard, metrics
from workers.phone.app.description import AppDescription
from workers.phone.app.launcher import launcher_frame
from workers.phone.app.nodes import TextField, Toggleable
from workers.phone.app.placed import Bounds, Frame, Placed
from workers.phone.app.running import RunningApp
from workers.phone.app.words import Value
from workers.phone.clock import monotonic_seconds

#: Two taps on one node within this time are a double tap. A phone takes 0.3 s; each of ours came through adb.
DOUBLE_TAP_SECONDS = 0.6
LONG_PRESS_MS = 500
#: A finger that moves less than this has not swiped.
_TOUCH_SLOP_PX = 24


@dataclass(slots=True)
class _Tap:
    key: str
    at: float


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
        self._is_keyboard_up = False
        self._is_shifted = False
        self._last_tap = _Tap("", 0.0)

    # What runs

    @property
    def front(self) -> RunningApp | None:
        """The app on the display; None when it is the launcher."""
        return self.running.get(self._front) if self._front else None

    @property
    def is_keyboard_shown(self) -> bool:
        return self._is_keyboard_up and self.front is not None and self.front.focus is not None

    def start_app(self, package: str, *, link: str = "") -> None:
        """Bring an installed app to the front, as it was if it still runs."""
        now = monotonic_seconds()
        self._is_keyboard_up = False
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
        self._is_keyboard_up = False

    # What is seen

    def frame(self) -> Frame:
        """What is on the display now; a toast and the keyboard are part of it."""
        now = monotonic_seconds()
        self.settle(now)
        app = self.front
        if app is None:
            return launcher_frame([installed.description for installed in self.installed.values()], self.bounds)
        frame = app.frame(self.bounds, now=now)
        return self._with_keyboard(frame) if self.is_keyboard_shown else frame

    def settle(self, now: float) -> None:
        """Let what is due happen, also in apps that are not in front."""
        for package, app in list(self.running.items()):
            app.settle(now)
            if app.is_finished:
                self.stop_app(package)

    def _with_keyboard(self, frame: Frame) -> Frame:
        keys = keyboard.keyboard(display=self.bounds, is_shifted=self._is_shifted)
        (root,) = frame.roots
        focused = next((node for node in root.walk() if node.is_focused), None)
        hidden_px = max(0, focused.bounds.bottom + metrics.GAP_PX - keys.bounds.top) if focused else 0
        area = replace(self.bounds, bottom=keys.bounds.top)
        moved = root.moved(-hidden_px).clipped(area)
        return replace(frame, roots=(moved, keys) if moved else (keys,))

    # What touches it

    def tap(self, x: int, y: int) -> None:
        self.press(x, y, held_ms=0)

    def press(self, x: int, y: int, *, held_ms: int) -> None:
        """A finger set down and lifted at one place."""
        frame = self.frame()
        if not self.is_on:
            return
        self._touched(frame, [(x, y)])
        under = next((chain for root in reversed(frame.roots) if (chain := root.at(x, y))), [])
        if not under:
            return
        node = under[0]
        if node.press:
            self._pressed(node)
        elif node.is_enabled and node.node is not None:
            self._acted(node, held_ms=held_ms)
        self.settle(monotonic_seconds())

    def swipe(self, start: tuple[int, int], end: tuple[int, int], *, duration_ms: int) -> None:
        """A finger that moves from one place to another; one that stays is a press."""
        if math.dist(start, end) <= _TOUCH_SLOP_PX:
            self.press(*start, held_ms=duration_ms)
            return
        frame = self.frame()
        if not self.is_on:
            return
        steps = max(2, int(math.dist(start, end) / 16))
        path = [
            (start[0] + (end[0] - start[0]) * step // steps, start[1] + (end[1] - start[1]) * step // steps)
            for step in range(steps + 1)
        ]
        self._touched(frame, path)
        if not self._is_swipe_of_screen(start, end):
            self._scrolled(frame, start, end)
        self.settle(monotonic_seconds())

    def _pressed(self, node: Placed) -> None:
        """A key of the keyboard, an icon of the launcher, or the arrow in a title bar."""
        if node.look == "app_icon":
            self.start_app(node.press)
        elif node.press == "BACK":
            self.back()
        elif node.press == "shift":
            self._is_shifted = not self._is_shifted
        elif node.press == "ENTER":
            self.enter()
        elif node.press == "DEL":
            self.delete()
        else:
            self.type_text(node.press)
            self._is_shifted = False

    def _acted(self, placed: Placed, *, held_ms: int) -> None:
        app, node, now = self.front, placed.node, monotonic_seconds()
        if app is None or node is None:
            return
        if held_ms >= LONG_PRESS_MS and node.long_press:
            app.happen(node.long_press, now=now, item=placed.item)
            return
        if isinstance(node, TextField):
            app.focus = node.bind
            self._is_keyboard_up = True
        if isinstance(node, Toggleable):
            app.assign(node.bind, not app.values[node.bind])
        is_double = self._last_tap.key == placed.key and now - self._last_tap.at <= DOUBLE_TAP_SECONDS
        self._last_tap = _Tap("" if is_double else placed.key, now)
        app.happen(node.double_tap if is_double and node.double_tap else node.tap, now=now, item=placed.item)

    def _touched(self, frame: Frame, path: list[tuple[int, int]]) -> None:
        app = self.front
        if app is None:
            return
        for placed in frame.walk():
            if placed.node is not None and placed.node.touch and placed.is_enabled:
                if any(placed.bounds.contains(*point) for point in path):
                    app.happen(placed.node.touch, now=monotonic_seconds(), item=placed.item)

    def _is_swipe_of_screen(self, start: tuple[int, int], end: tuple[int, int]) -> bool:
        app = self.front
        if app is None:
            return False
        for swipe in app.screen.swipes:
            if (
                (swipe.finger is None or swipe.finger == _direction(start, end))
                and (swipe.start is None or self._region(swipe.start).contains(*start))
                and (swipe.end is None or self._region(swipe.end).contains(*end))
            ):
                app.happen(swipe.effects, now=monotonic_seconds())
                return True
        return False

    def _region(self, region: tuple[int | str, int | str, int | str, int | str]) -> Bounds:
        left, top, right, bottom = region
        width, height = self.bounds.width, self.bounds.height
        return Bounds(
            metrics.pixels(left, width),
            metrics.pixels(top, height),
            metrics.pixels(right, width),
            metrics.pixels(bottom, height),
        )

    def _scrolled(self, frame: Frame, start: tuple[int, int], end: tuple[int, int]) -> None:
        app = self.front
        if app is None:
            return
        under = [node for node in frame.walk() if node.is_scrollable and node.bounds.contains(*start)]
        if under:
            container = under[-1]
            offset_px = app.visit.scrolled_px.get(container.key, 0) + start[1] - end[1]
            app.visit.scrolled_px[container.key] = max(0, min(offset_px, container.scroll_range_px))

    # Keys

    def back(self) -> None:
        """The Back key: hides the keyboard, else closes a screen, else shows the launcher."""
        app = self.front
        if self.is_keyboard_shown:
            self._is_keyboard_up = False
        elif app is not None and not app.leave_screen(now=monotonic_seconds()):
            self.go_home()
        self.settle(monotonic_seconds())

    def type_text(self, text: str) -> None:
        """Append to the field that has the focus; lost when none has, as on a phone."""
        app = self.front
        if app is not None and app.focus is not None:
            app.assign(app.focus, f"{app.values[app.focus]}{text}")

    def delete(self) -> None:
        """Remove the last letter of the field that has the focus."""
        app = self.front
        if app is not None and app.focus is not None:
            app.assign(app.focus, str(app.values[app.focus])[:-1])

    def enter(self) -> None:
        """A line break in a field of several lines; else what the field does on submit, and the keyboard goes."""
        app, node = self.front, self._focused_field()
        if app is None or node is None:
            return
        if isinstance(node.node, TextField) and node.node.multiline:
            self.type_text("\n")
            return
        self._is_keyboard_up = False
        if isinstance(node.node, TextField):
            app.happen(node.node.submit, now=monotonic_seconds(), item=node.item)
        self.settle(monotonic_seconds())

    def focus_next(self) -> None:
        """The Tab key: the next field of the screen gets the focus."""
        app = self.front
        if app is None:
            return
        fields = [
            node.node.bind for node in self.frame().walk() if isinstance(node.node, TextField) and node.is_enabled
        ]
        if fields:
            at = fields.index(app.focus) + 1 if app.focus in fields else 0
            app.focus = fields[at % len(fields)]
            self._is_keyboard_up = True

    def _focused_field(self) -> Placed | None:
        return next((node for node in self.frame().walk() if node.is_focused), None)


def _direction(start: tuple[int, int], end: tuple[int, int]) -> str:
    dx, dy = end[0] - start[0], end[1] - start[1]
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"
