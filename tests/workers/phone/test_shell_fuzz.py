"""Whatever is sent to the shell, it answers: an exception would leave the client with a closed stream and no reason."""

import asyncio

from hypothesis import given, settings, strategies as st

from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.phone import Phone
from workers.phone.shell.commands import COMMANDS
from workers.phone.shell.interpreter import Interpreter
from workers.phone.strike import ConnectionCut

APPS = load_apps([BUILT_IN_APPS])
SLOW = {"sleep"}
WORDS = (
    "tap",
    "swipe",
    "text",
    "keyevent",
    "draganddrop",
    "start",
    "force-stop",
    "kill",
    "broadcast",
    "list",
    "packages",
    "path",
    "clear",
    "package",
    "activity",
    "resolve-activity",
    "get",
    "put",
    "system",
    "secure",
    "global",
    "size",
    "density",
    "battery",
    "set",
    "level",
    "temp",
    "window",
    "top",
    "display",
    "power",
    "dump",
    "add",
    "link",
    "drop",
    "output",
    "--match",
    "--times",
    "--for-ms",
    "offline",
    "-n",
    "-a",
    "-d",
    "-p",
    "-S",
    "-W",
    "-f",
    "-r",
    "-l",
    "-c",
    "-i",
    "-v",
    "-p",
    "-3",
    "dev.corral.notes",
    "dev.corral.notes/.MainActivity",
    "corral://notes/new",
    "/sdcard",
    "/sdcard/x",
    "/system/x",
    "/",
    "''",
    "'*'",
    "1",
    "540",
    "2400",
    "-5",
    "1e9",
    "1e308",
    "nan",
    "inf",
    "99999999999999999999",
    "é",
    "%s",
    "66",
    "BACK",
    "KEYCODE_HOME",
    "+",
    "+%Q",
    "[",
    "(",
    "\\",
    "$",
    "$?",
    "'",
    '"',
    "#",
    "&",
    "|",
    "||",
    "&&",
    ";",
    ">",
    ">>",
    "<",
    "2>&1",
)

lines = st.one_of(
    st.builds(
        lambda command, words: " ".join([command, *words]),
        st.sampled_from(sorted(set(COMMANDS) - SLOW)),
        st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=7),
    ),
    st.text(max_size=40),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(lines, min_size=1, max_size=3))
def test_every_line_gets_an_answer(written):
    phone = Phone(apps=APPS)

    async def run() -> None:
        interpreter = Interpreter(phone, service="shell", hung_up=asyncio.Event())
        for line in written:
            # A fault that was ordered may strike later lines; that is another test's matter.
            phone.faults.clear()
            outcome = await interpreter.run(line)
            assert 0 <= outcome.exit_code <= 255

    try:
        asyncio.run(run())
    except ConnectionCut:
        assert any("reboot" in line or "drop" in line for line in written)
