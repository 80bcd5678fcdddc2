"""`input`: taps, swipes, text and keys."""

from workers.phone import keys
from workers.phone.display import LONG_PRESS_MS, Display
from workers.phone.shell.registry import Call, command

_FAILED = 255
_SOURCES = ("keyboard", "dpad", "touchscreen", "touchpad", "mouse", "trackball", "stylus", "gamepad")
_DEFAULT_SWIPE_MS = 300
_NO_EVENTS_FOR_TEXT = """
Exception occurred while executing 'text':
java.lang.NullPointerException: Attempt to get length of null array
\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:283)
\tat com.android.server.input.InputShellCommand.runText(InputShellCommand.java:253)
\tat com.android.server.input.InputShellCommand.onCommand(InputShellCommand.java:155)
\tat com.android.modules.utils.BasicShellCommandHandler.exec(BasicShellCommandHandler.java:97)
\tat android.os.ShellCommand.exec(ShellCommand.java:38)"""


@command("input")
async def input_event(call: Call) -> int:
    words = list(call.arguments)
    if words and words[0] in _SOURCES:
        del words[0]
    if words[:1] == ["-d"]:
        del words[:2]
    match words:
        case ["tap", x, y]:
            return _tap(call, x, y)
        case ["swipe", *numbers] if len(numbers) in {4, 5}:
            return _swipe(call, numbers, least_ms=0)
        case ["draganddrop", *numbers] if len(numbers) in {4, 5}:
            return _swipe(call, numbers, least_ms=LONG_PRESS_MS)
        case ["text", text, *_]:
            return _text(call, text)
        case ["keyevent", *names] if names:
            return _keys(call, [name for name in names if not name.startswith("--")])
        case [verb, *_]:
            return call.fail(f"Error: Invalid arguments for command: {verb}", exit_code=_FAILED)
        case _:
            return call.fail("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]", exit_code=_FAILED)


def _pixels(call: Call, words: list[str]) -> list[int] | None:
    try:
        return [int(float(word)) for word in words]
    except (ValueError, OverflowError):
        call.fail(f"java.lang.NumberFormatException: For input string: {words!r}")
        return None


def _tap(call: Call, x: str, y: str) -> int:
    point = _pixels(call, [x, y])
    if point is None:
        return _FAILED
    call.phone.display.tap(*point)
    return 0


def _swipe(call: Call, words: list[str], *, least_ms: int) -> int:
    numbers = _pixels(call, words)
    if numbers is None:
        return _FAILED
    left, top, right, bottom, *duration_ms = numbers
    held_ms = max(least_ms, *duration_ms, 0) if duration_ms else max(least_ms, _DEFAULT_SWIPE_MS)
    call.phone.display.swipe((left, top), (right, bottom), duration_ms=held_ms)
    return 0


def _text(call: Call, text: str) -> int:
    if not text.isascii():
        # The key map has no keys for these letters; Android types nothing and prints its exception.
        return call.fail(_NO_EVENTS_FOR_TEXT, exit_code=_FAILED)
    first, *rest = text.replace("%s", " ").split("\n")
    call.phone.display.type_text(first)
    for line in rest:
        call.phone.display.enter()
        call.phone.display.type_text(line)
    return 0


def _keys(call: Call, names: list[str]) -> int:
    for name in names:
        code = keys.key_code(name)
        if code is None:
            return call.fail(f"Error: Unknown keycode: {name}", exit_code=_FAILED)
        _press(call.phone.display, code)
    return 0


def _press(display: Display, code: int) -> None:
    match code:
        case 26:
            display.is_on = not display.is_on
        case 223:
            display.is_on = False
        case 224:
            display.is_on = True
        case _ if not display.is_on:
            pass
        case 3:
            display.go_home()
        case 4 | 111:
            display.back()
        case 66 | 160:
            display.enter()
        case 67:
            display.delete()
        case 61:
            display.focus_next()
        case _ if code in keys.TYPED:
            display.type_text(keys.TYPED[code])
        case _:
            pass  # volume, media and the like change nothing that can be seen
