"""`uiautomator dump` and `screencap`: looking at the display."""

import asyncio

from workers.phone.faults import FaultKind
from workers.phone.files import FileRefused
from workers.phone.hierarchy import hierarchy_xml
from workers.phone.picture.screenshot import black_png, frame_png
from workers.phone.shell.call import Call, Command
from workers.phone.strike import DISPLAY_WARNING

_DEFAULT_DUMP = "/sdcard/window_dump.xml"


async def uiautomator(call: Call) -> int:
    if call.arguments[:1] != ("dump",):
        return call.fail("Usage: uiautomator dump [--compressed] [file]")
    if not call.phone.display.is_on:
        # uiautomator itself ends with 0 when it fails.
        return call.fail("ERROR: null root node returned by UiTestAutomationBridge.", exit_code=0)
    xml = hierarchy_xml(call.phone.display.frame())
    paths = [word for word in call.arguments[1:] if not word.startswith("--")]
    path = paths[0] if paths else _DEFAULT_DUMP
    if path == "/dev/tty":
        call.stdout += xml.encode()
    else:
        try:
            call.phone.files.write(path, xml.encode())
        except FileRefused as refused:
            return call.fail(f"ERROR: could not write {path}: {refused}")
    # Misspelt by Android itself; clients look for it.
    call.print(f"UI hierchary dumped to: {path}")
    return 0


async def screencap(call: Call) -> int:
    words = list(call.arguments)
    if "-d" in words:
        at = words.index("-d")
        del words[at : at + 2]
    paths = [word for word in words if not word.startswith("-")]
    if "-p" not in words and not any(path.endswith(".png") for path in paths):
        return call.fail("screencap: this phone takes PNG screenshots only: screencap -p [FILE]")
    frame = call.phone.display.frame()
    is_black = frame.is_secure or not call.phone.display.is_on or call.struck_by is FaultKind.BLACK_SCREENSHOT
    # Drawing takes some ten milliseconds in which the other phones of the process should go on.
    png = black_png() if is_black else await asyncio.to_thread(frame_png, frame, call.phone.serial)
    if call.struck_by is FaultKind.DISPLAY_WARNING:
        png = DISPLAY_WARNING.encode() + png
    if paths:
        call.phone.files.write(paths[0], png)
    else:
        call.stdout += png
    return 0


COMMANDS: dict[str, Command] = {
    "uiautomator": uiautomator,
    "screencap": screencap,
}
