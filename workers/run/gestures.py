"""Taps, swipes and scrolls."""

from corral.flow.commands.swipes import Direction, ScrollUntilVisible, Swipe
from corral.flow.commands.taps import DoubleTapOn, LongPressOn, TapCommand, TapOn
from corral.flow.point import Point
from workers.clock import boot_seconds
from workers.device.actions import DoubleTap, LongPress, Swipe as SwipeAction, Tap
from workers.device.observation import Bounds, Observation
from workers.device.outcome import ErrorCode
from workers.run.failure import StepFailed
from workers.run.screen import Found, Screen, found_in

#: Where a finger that goes in a direction starts and ends, in hundredths of the screen. Down starts below the top, so
#: that it does not pull the status bar open.
_FINGER: dict[Direction, tuple[Point, Point]] = {
    Direction.UP: (Point(x=50, y=50, is_percent=True), Point(x=50, y=10, is_percent=True)),
    Direction.DOWN: (Point(x=50, y=20, is_percent=True), Point(x=50, y=90, is_percent=True)),
    Direction.LEFT: (Point(x=90, y=50, is_percent=True), Point(x=10, y=50, is_percent=True)),
    Direction.RIGHT: (Point(x=10, y=50, is_percent=True), Point(x=90, y=50, is_percent=True)),
}
#: To see what is further down, the finger goes up.
_FINGER_TO_REVEAL = {
    Direction.DOWN: Direction.UP,
    Direction.UP: Direction.DOWN,
    Direction.RIGHT: Direction.LEFT,
    Direction.LEFT: Direction.RIGHT,
}
_CENTER = Point(x=50, y=50, is_percent=True)
_SCROLL_MS = 400
#: Scrolls that try to bring an element to the middle: at the end of a list it cannot get there.
_MAX_CENTER_TRIES = 4
_MIDDLE_PERCENT = (40, 60)
_PERCENT = 100


async def tap_on(command: TapOn, screen: Screen, seconds: float) -> None:
    x_px, y_px, before = await _target(command, screen, seconds)
    for number in range(command.repeat):
        if number:
            await screen.stop.wait(command.delay_ms / 1000)
        await screen.act(Tap(x_px, y_px))
    if command.retry_tap_if_no_change and await _is_unchanged(before, screen):
        screen.stop.check()
        await screen.act(Tap(x_px, y_px))


async def double_tap_on(command: DoubleTapOn, screen: Screen, seconds: float) -> None:
    x_px, y_px, _ = await _target(command, screen, seconds)
    await screen.act(DoubleTap(x_px, y_px))


async def long_press_on(command: LongPressOn, screen: Screen, seconds: float) -> None:
    x_px, y_px, _ = await _target(command, screen, seconds)
    await screen.act(LongPress(x_px, y_px))


async def swipe(command: Swipe, screen: Screen, seconds: float) -> None:
    if command.from_element and command.direction:
        found = await screen.find(command.from_element, seconds=seconds)
        start = found.visible.center_px
        end = _end_from(start, command.direction, found.observation)
    else:
        observation = await screen.look_at_tree(seconds)
        start, end = (_pixels(point, observation) for point in _finger_of(command))
    await screen.act(SwipeAction(*start, *end, command.duration_ms))


def _finger_of(command: Swipe) -> tuple[Point, Point]:
    if command.direction:
        return _FINGER[command.direction]
    if command.start and command.end:
        return command.start, command.end
    raise AssertionError("a swipe has a direction or two points")


async def scroll(screen: Screen, seconds: float) -> None:
    await _reveal(Direction.DOWN, await screen.look_at_tree(seconds), screen, _SCROLL_MS)


async def scroll_until_visible(command: ScrollUntilVisible, screen: Screen) -> None:
    seconds = command.timeout_ms / 1000
    end = boot_seconds() + seconds
    duration_ms = (_PERCENT - command.speed) * 10 + 1
    tries_left = _MAX_CENTER_TRIES if command.center_element else 0
    while True:
        observation = await screen.look_at_tree(screen.times.element_seconds)
        found = found_in(observation, command.element)
        if found and _visible_percent(found) >= command.visibility_percentage:
            if not tries_left or _is_in_the_middle(found, command.direction):
                return
            tries_left -= 1
        if boot_seconds() >= end:
            message = (
                f"no element with {command.element.describe()}, after scrolling {command.direction} for {seconds:g} s"
            )
            raise StepFailed(message, code=ErrorCode.NOT_FOUND)
        screen.stop.check()
        await _reveal(command.direction, observation, screen, duration_ms)
        await screen.stop.wait(screen.times.poll_seconds)


async def _target(command: TapCommand, screen: Screen, seconds: float) -> tuple[int, int, Observation]:
    """Where to put the finger, and the look that says so."""
    if command.selector is None:
        if command.point is None:
            raise AssertionError("a tap has an element or a point")
        observation = await screen.look_at_tree(seconds)
        return *_pixels(command.point, observation), observation
    found = await screen.find(command.selector, seconds=seconds)
    if command.point is None:
        return *found.visible.center_px, found.observation
    bounds = found.node.bounds
    x_px, y_px = command.point.within(bounds.right_px - bounds.left_px, bounds.bottom_px - bounds.top_px)
    return bounds.left_px + x_px, bounds.top_px + y_px, found.observation


async def _is_unchanged(before: Observation, screen: Screen) -> bool:
    await screen.stop.wait(screen.times.poll_seconds)
    after = await screen.look()
    return before.tree == after.tree


async def _reveal(direction: Direction, observation: Observation, screen: Screen, duration_ms: int) -> None:
    start = _pixels(_CENTER, observation)
    await screen.act(SwipeAction(*start, *_end_from(start, _FINGER_TO_REVEAL[direction], observation), duration_ms))


def _end_from(start: tuple[int, int], direction: Direction, observation: Observation) -> tuple[int, int]:
    end_x, end_y = _pixels(_FINGER[direction][1], observation)
    return (start[0], end_y) if direction.is_vertical else (end_x, start[1])


def _pixels(point: Point, observation: Observation) -> tuple[int, int]:
    return point.within(observation.width_px, observation.height_px)


def _visible_percent(found: Found) -> float:
    return _PERCENT * _area(found.visible) / _area(found.node.bounds)


def _is_in_the_middle(found: Found, direction: Direction) -> bool:
    x_px, y_px = found.node.bounds.center_px
    part = y_px / found.observation.height_px if direction.is_vertical else x_px / found.observation.width_px
    return _MIDDLE_PERCENT[0] <= part * _PERCENT <= _MIDDLE_PERCENT[1]


def _area(bounds: Bounds) -> int:
    return (bounds.right_px - bounds.left_px) * (bounds.bottom_px - bounds.top_px)
