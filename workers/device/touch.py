"""Fingers on the screen. What lies outside it is refused, not moved to its edge."""

from workers.device.actions import DoubleTap, LongPress, Swipe, Tap
from workers.device.command_line import CommandLine, command, while_successful
from workers.device.outcome import ErrorCode, Failed, Outcome
from workers.device.screen import Screen
from workers.device.shell import DEADLINE_SECONDS, Shell
from workers.device.verdict import outcome_of

#: With it no single command lasts longer than 30 s, and neither does what a lost lease or a cancel has to wait for.
MAX_DURATION_MS = 20_000


def tap(shell: Shell, screen: Screen, action: Tap) -> Outcome:
    point = (action.x_px, action.y_px)
    return screen.refusal(point) or _sent(shell, command("input", "tap", *point))


def double_tap(shell: Shell, screen: Screen, action: DoubleTap) -> Outcome:
    """Both taps in one command: apart they would come too late to be one gesture."""
    point = (action.x_px, action.y_px)
    one = command("input", "tap", *point)
    return screen.refusal(point) or _sent(shell, while_successful([one, one]))


def long_press(shell: Shell, screen: Screen, action: LongPress) -> Outcome:
    point = (action.x_px, action.y_px)
    return _stroke(shell, screen, start=point, end=point, duration_ms=action.duration_ms)


def swipe(shell: Shell, screen: Screen, action: Swipe) -> Outcome:
    start, end = (action.from_x_px, action.from_y_px), (action.to_x_px, action.to_y_px)
    return _stroke(shell, screen, start=start, end=end, duration_ms=action.duration_ms)


def _stroke(shell: Shell, screen: Screen, *, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> Outcome:
    if not 0 <= duration_ms <= MAX_DURATION_MS:
        message = f"a finger cannot stay for {duration_ms} ms; 0 to {MAX_DURATION_MS} ms are possible"
        return Failed(ErrorCode.COMMAND_FAILED, message)
    line = command("input", "swipe", *start, *end, duration_ms)
    return screen.refusal(start, end) or _sent(shell, line, duration_ms=duration_ms)


def _sent(shell: Shell, line: CommandLine, *, duration_ms: int = 0) -> Outcome:
    deadline_seconds = DEADLINE_SECONDS + duration_ms / 1000
    return outcome_of(shell.run(line, changes_device=True, deadline_seconds=deadline_seconds))
