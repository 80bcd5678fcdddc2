"""Commands over the phone's files: ls, cat, rm, mkdir, touch, stat, base64 and the like."""

import base64
import binascii
import posixpath
import time

from workers.phone.files import Entry, FileRefused
from workers.phone.shell.call import Call, Command


def _words(call: Call) -> list[str]:
    return [word for word in call.arguments if not word.startswith("-")]


def _flags(call: Call) -> str:
    return "".join(word[1:] for word in call.arguments if word.startswith("-"))


async def ls(call: Call) -> int:
    exit_code = 0
    for path in _words(call) or ["/"]:
        entry = call.phone.files.find(path)
        if entry is None:
            exit_code = call.fail(f"ls: {path}: No such file or directory")
            continue
        is_listed_inside = entry.is_folder and "d" not in _flags(call)
        for name, child in call.phone.files.children(path) if is_listed_inside else [(path, entry)]:
            call.print(_long(name, child) if "l" in _flags(call) else name)
    return exit_code


def _long(name: str, entry: Entry) -> str:
    kind = "drwxrwx--x" if entry.is_folder else "-rw-rw----"
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(entry.modified_at))
    return f"{kind} 1 shell shell {entry.size_bytes:>8} {when} {name}"


async def cat(call: Call) -> int:
    if not _words(call):
        call.stdout += call.stdin
        return 0
    exit_code = 0
    for path in _words(call):
        try:
            call.stdout += call.phone.files.read(path)
        except FileRefused as refused:
            exit_code = call.fail(f"cat: {path}: {refused}")
    return exit_code


async def rm(call: Call) -> int:
    exit_code = 0
    for path in _words(call):
        entry = call.phone.files.find(path)
        if entry is None and "f" in _flags(call):
            continue
        if entry is not None and entry.is_folder and "r" not in _flags(call).lower():
            exit_code = call.fail(f"rm: {path}: is a directory")
            continue
        try:
            call.phone.files.remove(path)
        except FileRefused as refused:
            exit_code = call.fail(f"rm: {path}: {refused}")
    return exit_code


async def mkdir(call: Call) -> int:
    exit_code = 0
    for path in _words(call):
        if call.phone.files.find(path) is not None and "p" not in _flags(call):
            exit_code = call.fail(f"mkdir: '{path}': File exists")
            continue
        try:
            if "p" not in _flags(call) and call.phone.files.find(posixpath.dirname(path.rstrip("/"))) is None:
                raise FileRefused("No such file or directory")  # noqa: TRY301 - as if the files had said it
            call.phone.files.make_folder(path)
        except FileRefused as refused:
            exit_code = call.fail(f"mkdir: '{path}': {refused}")
    return exit_code


async def touch(call: Call) -> int:
    for path in _words(call):
        entry = call.phone.files.find(path)
        call.phone.files.write(path, entry.content if entry else b"")
    return 0


async def chmod(call: Call) -> int:
    """Every file of the phone belongs to the shell: modes are accepted and mean nothing."""
    missing = [path for path in _words(call)[1:] if call.phone.files.find(path) is None]
    return call.fail(f"chmod: {missing[0]}: No such file or directory") if missing else 0


async def wc(call: Call) -> int:
    content = b"".join(call.phone.files.read(path) for path in _words(call)) if _words(call) else call.stdin
    numbers = {"l": content.count(b"\n"), "w": len(content.split()), "c": len(content)}
    call.print(" ".join(str(number) for flag, number in numbers.items() if flag in (_flags(call) or "lwc")))
    return 0


async def to_base64(call: Call) -> int:
    content = call.phone.files.read(_words(call)[0]) if _words(call) else call.stdin
    try:
        call.stdout += base64.b64decode(content) if "d" in _flags(call) else base64.encodebytes(content)
    except binascii.Error as error:
        return call.fail(f"base64: {error}")
    return 0


COMMANDS: dict[str, Command] = {
    "ls": ls,
    "cat": cat,
    "rm": rm,
    "mkdir": mkdir,
    "touch": touch,
    "chmod": chmod,
    "wc": wc,
    "base64": to_base64,
}
