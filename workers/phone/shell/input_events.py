"""`input`: taps, swipes, text and keys."""

import re

from workers.phone import keys
from workers.phone.shell.call import Call, Command
from workers.phone.touch import LONG_PRESS_MS

_FAILED = 255
_SOURCES = ("keyboard", "dpad", "touchscreen", "touchpad", "mouse", "trackball", "stylus", "gamepad")
_DEFAULT_SWIPE_MS = 300
#: Seven digits are more than any display has pixels.
_NUMBER = re.compile(r"-?[0-9]{1,7}(\.[0-9]*)?")
_NO_EVENTS_FOR_TEXT = """
Exception occurred while executing 'text':
java.lang.NullPointerException: Attempt to get length of null array
\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:283)
\tat com.android.server.input.InputShellCommand.runText(InputShellCommand.java:253)
\tat com.android.server.input.InputShellCommand.onCommand(InputShellCommand.java:155)
\tat com.android.modules.utils.BasicShellCommandHandler.exec(BasicShellCommandHandler.java:97)
\tat android.os.ShellCommand.exec(ShellCommand.java:38)"""


async def input_event(call: Call) -> int:
    words = list(call.arguments)
    if words and words[0] in _SOURCES:
        del words[0]
    if words[:1] == ["-d"]:
        del words[:2]
    match words:
        case ["tap", x, y]:
            exit_code = _tap(call, x, y)
        case ["swipe", *numbers] if len(numbers) in {4, 5}:
            exit_code = _swipe(call, numbers, least_ms=0)
        case ["draganddrop", *numbers] if len(numbers) in {4, 5}:
            exit_code = _swipe(call, numbers, least_ms=LONG_PRESS_MS)
        case ["text", text, *_]:
            exit_code = _text(call, text)
        case ["keyevent", *names] if names:
            exit_code = _keys(call, [name for name in names if not name.startswith("--")])
        case [verb, *_]:
            exit_code = call.fail(f"Error: Invalid arguments for command: {verb}", exit_code=_FAILED)
        case _:
            exit_code = call.fail("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]", exit_code=_FAILED)
    return exit_code


def _pixels(call: Call, words: list[str]) -> list[int] | None:
    for word in words:
        if not _NUMBER.fullmatch(word):
            call.fail(f'java.lang.NumberFormatException: For input string: "{word}"')
            return None
    return [int(float(word)) for word in words]


def _tap(call: Call, x: str, y: str) -> int:
    point = _pixels(call, [x, y])
    if point is None:
        return _FAILED
    call.phone.touch.press((point[0], point[1]))
    return 0


def _swipe(call: Call, words: list[str], *, least_ms: int) -> int:
    numbers = _pixels(call, words)
    if numbers is None:
        return _FAILED
    left, top, right, bottom, *duration_ms = numbers
    held_ms = max(least_ms, *duration_ms, 0) if duration_ms else max(least_ms, _DEFAULT_SWIPE_MS)
    call.phone.touch.swipe((left, top), (right, bottom), duration_ms=held_ms)
    return 0


def _text(call: Call, text: str) -> int:
    if not text.isascii():
        # The key map has no keys for these letters; Android types nothing and prints its exception.
        return call.fail(_NO_EVENTS_FOR_TEXT, exit_code=_FAILED)
    first, *rest = text.replace("%s", " ").split("\n")
    call.phone.keypad.type_text(first)
    for line in rest:
        call.phone.keypad.press("ENTER")
        call.phone.keypad.type_text(line)
    return 0


def _keys(call: Call, names: list[str]) -> int:
    for name in names:
        key = keys.key_meant(name)
        if key is None:
            return call.fail(f"Error: Unknown keycode: {name}", exit_code=_FAILED)
        call.phone.keypad.press(key)
    return 0


COMMANDS: dict[str, Command] = {
    "input": input_event,
}
