"""Commands of every Unix: echo, id, date, which, sleep and the like."""

import asyncio
import re
import time

from workers.phone.clock import wall_seconds
from workers.phone.shell.call import Call, Command


async def echo(call: Call) -> int:
    words = call.arguments
    if words[:1] == ("-n",):
        call.stdout += " ".join(words[1:]).encode()
    else:
        call.print(" ".join(words))
    return 0


async def succeed(_: Call) -> int:
    return 0


async def fail(_: Call) -> int:
    return 1


async def sleep(call: Call) -> int:
    word = call.arguments[0] if call.arguments else ""
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", word):
        return call.fail(f"sleep: {word!r} is no number of seconds")
    await asyncio.sleep(float(word))
    return 0


async def show_id(call: Call) -> int:
    call.print("uid=2000(shell) gid=2000(shell) groups=2000(shell),1004(input),3003(inet) context=u:r:shell:s0")
    return 0


async def who_am_i(call: Call) -> int:
    call.print("shell")
    return 0


async def uptime(call: Call) -> int:
    call.print(" 12:00:00 up 1 day,  2:03,  0 users,  load average: 0.10, 0.08, 0.05")
    return 0


async def date(call: Call) -> int:
    pattern = next((word[1:] for word in call.arguments if word.startswith("+")), "%a %b %d %H:%M:%S UTC %Y")
    call.print(time.strftime(pattern, time.gmtime(wall_seconds())))
    return 0


async def which(call: Call) -> int:
    from workers.phone.shell.commands import COMMANDS as ALL  # this family is one of them

    found = [name for name in call.arguments if name in ALL]
    for name in found:
        call.print(f"/system/bin/{name}")
    return 0 if found and len(found) == len(call.arguments) else 1


async def logcat(_: Call) -> int:
    """The emulated phone's system writes no log of its own."""
    return 0


async def grep(call: Call) -> int:
    flags = "".join(word[1:] for word in call.arguments if word.startswith("-"))
    words = [word for word in call.arguments if not word.startswith("-")]
    if not words:
        return call.fail("grep: needs a pattern", exit_code=2)
    try:
        pattern = re.compile(words[0], re.IGNORECASE if "i" in flags else 0)
    except re.error as error:
        return call.fail(f"grep: bad pattern: {error}", exit_code=2)
    content = b"".join(call.phone.files.read(path) for path in words[1:]) if words[1:] else call.stdin
    lines = content.decode(errors="replace").splitlines()
    found = [line for line in lines if (pattern.search(line) is None) is ("v" in flags)]
    for line in [str(len(found))] if "c" in flags else found:
        call.print(line)
    return 0 if found else 1


COMMANDS: dict[str, Command] = {
    "echo": echo,
    "true": succeed,
    "false": fail,
    "sleep": sleep,
    "id": show_id,
    "whoami": who_am_i,
    "uptime": uptime,
    "date": date,
    "which": which,
    "logcat": logcat,
    "grep": grep,
}
