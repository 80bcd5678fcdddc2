"""Fingers on the display: taps, long presses and swipes, and what they mean where they come down."""

import math

from workers.phone.app import metrics
from workers.phone.app.nodes import Length, TextField, Toggleable
from workers.phone.app.placed import Bounds, Frame, Placed
from workers.phone.clock import monotonic_seconds
from workers.phone.display import Display
from workers.phone.keypad import Keypad

#: Two taps on one node within this time are a double tap. A phone allows 0.3 s, but ours each came through adb.
DOUBLE_TAP_SECONDS = 0.6
LONG_PRESS_MS = 500
#: A finger that moves less than this has not swiped.
_TOUCH_SLOP_PX = 24
_PATH_STEP_PX = 16
#: Enough for every way across the display; `input` takes any number.
_MAX_PATH_STEPS = 500

Point = tuple[int, int]


class Touch:
    def __init__(self, display: Display, keypad: Keypad) -> None:
        self._display = display
        self._keypad = keypad
        self._last_tapped = ""
        self._last_tap_at = 0.0

    def press(self, point: Point, *, held_ms: int = 0) -> None:
        """A finger set down and lifted at one place; a tap when it is held for less than `LONG_PRESS_MS`."""
        frame = self._display.frame()
        if not self._display.is_on:
            return
        self._pass_over(frame, [point])
        under = _topmost(frame, point)
        if under is not None and under.press:
            self._press_key(under)
        elif under is not None and under.is_enabled:
            self._act(under, held_ms=held_ms)
        self._display.settle()

    def swipe(self, start: Point, end: Point, *, duration_ms: int) -> None:
        """A finger that moves from one place to another; one that stays is a press."""
        if math.dist(start, end) <= _TOUCH_SLOP_PX:
            self.press(start, held_ms=duration_ms)
            return
        frame = self._display.frame()
        if not self._display.is_on:
            return
        self._pass_over(frame, _path(start, end))
        if not self._swipe_screen(start, end):
            self._scroll(frame, start, end)
        self._display.settle()

    def _press_key(self, key: Placed) -> None:
        """An icon of the launcher, or a key of the keyboard or of a title bar."""
        if key.look == "app_icon":
            self._display.start_app(key.press)
        else:
            self._keypad.press(key.press)

    def _act(self, placed: Placed, *, held_ms: int) -> None:
        app, node, now = self._display.front, placed.node, monotonic_seconds()
        if app is None or node is None:
            return
        if held_ms >= LONG_PRESS_MS and node.long_press:
            app.happen(node.long_press, now=now, item=placed.item)
            return
        if isinstance(node, TextField):
            self._display.focus_on(node.bind)
        if isinstance(node, Toggleable):
            app.assign(node.bind, not app.values[node.bind])
        is_double = self._last_tapped == placed.key and now - self._last_tap_at <= DOUBLE_TAP_SECONDS
        # The third tap in a row begins anew.
        self._last_tapped, self._last_tap_at = "" if is_double else placed.key, now
        app.happen(node.double_tap if is_double and node.double_tap else node.tap, now=now, item=placed.item)

    def _pass_over(self, frame: Frame, path: list[Point]) -> None:
        app = self._display.front
        if app is None:
            return
        touched = [placed for placed in frame.walk() if placed.node is not None and placed.node.touch]
        for placed in touched:
            is_met = any(placed.bounds.contains(*point) for point in path)
            if is_met and placed.is_enabled and placed.node is not None:
                app.happen(placed.node.touch, now=monotonic_seconds(), item=placed.item)

    def _swipe_screen(self, start: Point, end: Point) -> bool:
        """Do what the screen says about such a swipe; False when it says nothing."""
        app, now = self._display.front, monotonic_seconds()
        if app is None or app.is_loading(now):
            return False
        for swipe in app.screen.swipes:
            if (
                swipe.finger in {None, _direction(start, end)}
                and (swipe.start is None or _region(swipe.start, self._display.bounds).contains(*start))
                and (swipe.end is None or _region(swipe.end, self._display.bounds).contains(*end))
            ):
                app.happen(swipe.effects, now=now)
                return True
        return False

    def _scroll(self, frame: Frame, start: Point, end: Point) -> None:
        app = self._display.front
        under = [node for node in frame.walk() if node.is_scrollable and node.bounds.contains(*start)]
        if app is not None and under:
            innermost = under[-1]
            offset_px = app.visit.scrolled_px.get(innermost.key, 0) + start[1] - end[1]
            app.visit.scrolled_px[innermost.key] = max(0, min(offset_px, innermost.scroll_range_px))


def _topmost(frame: Frame, point: Point) -> Placed | None:
    found = (root.touched_at(*point) for root in reversed(frame.roots))
    return next((placed for placed in found if placed is not None), None)


def _path(start: Point, end: Point) -> list[Point]:
    steps = max(2, min(_MAX_PATH_STEPS, int(math.dist(start, end) / _PATH_STEP_PX)))
    return [
        (start[0] + (end[0] - start[0]) * step // steps, start[1] + (end[1] - start[1]) * step // steps)
        for step in range(steps + 1)
    ]


def _region(region: tuple[Length, Length, Length, Length], display: Bounds) -> Bounds:
    left, top, right, bottom = region
    return Bounds(
        metrics.pixels(left, display.width),
        metrics.pixels(top, display.height),
        metrics.pixels(right, display.width),
        metrics.pixels(bottom, display.height),
    )


def _direction(start: Point, end: Point) -> str:
    dx, dy = end[0] - start[0], end[1] - start[1]
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"
