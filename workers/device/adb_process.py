"""The adb server's process: which binary, in which surroundings, and how it comes to its end."""

import asyncio
import importlib.resources
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from adbutils import adb_path  # pyright: ignore[reportMissingTypeStubs] - it is typed, but does not declare it

#: The server dies with the host, also with one that was killed: an orphan would keep the phones for itself.
_EXEC_BOUND_TO_PARENT = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
if hasattr(libc, "prctl"):
    libc.prctl(1, int(signal.SIGTERM))
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent has gone")
os.execv(sys.argv[2], sys.argv[2:])
"""

_TERM_SECONDS = 3.0
_MAX_LOG_BYTES = 4 * 1024 * 1024


async def spawn_adb_server(
    *, home: Path, port: int, finds_usb: bool, finds_emulators: bool
) -> asyncio.subprocess.Process:
    """Starts a server on `port` of the loopback interface; its keys and its log live in `home`."""
    adb = _adb_binary()
    with _opened_log(home) as log:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _EXEC_BOUND_TO_PARENT, str(os.getpid())),
            *(adb, "-P", str(port), "server", "nodaemon"),
            env=_environment(home, finds_usb=finds_usb, finds_emulators=finds_emulators),
            cwd=home,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C on the host's terminal begins a drain, for which adb is needed.
            start_new_session=True,
        )


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Ends this very process, and no other server."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        process.send_signal(ending)
        try:
            await asyncio.wait_for(process.wait(), _TERM_SECONDS)
        except TimeoutError:
            continue


def log_file(home: Path) -> Path:
    return home / "adb.log"


def last_log_lines(home: Path) -> list[str]:
    """What the server printed last, for a message; nothing if there is no log."""
    try:
        return log_file(home).read_text(errors="replace").splitlines()[-3:]
    except OSError:
        return []


def _opened_log(home: Path) -> BinaryIO:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = log_file(home)
    if log.exists() and log.stat().st_size > _MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    return log.open("ab")


def _adb_binary() -> str:
    # The wheel's own binary first: what lies in PATH may be too old to refuse `kill-server`.
    bundled = importlib.resources.files("adbutils.binaries") / "adb"
    return str(bundled) if bundled.is_file() else adb_path()


def _environment(home: Path, *, finds_usb: bool, finds_emulators: bool) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "ADB_VENDOR_KEYS" or not name.startswith(("ADB_", "ANDROID_"))
    }
    return kept | {
        "HOME": str(home),
        "ANDROID_USER_HOME": str(home / ".android"),
        # An adb of another version that meets a server kills it; this one does not let itself be killed.
        "ADB_REJECT_KILL_SERVER": "1",
        # Phones of the neighbourhood are nobody's until an operator names them: `adb connect` needs no discovery, and
        # neither do phones on USB.
        "ADB_MDNS": "0",
        # Looking at USB takes the start three seconds.
        "ADB_USB": "1" if finds_usb else "0",
        "ADB_EMU": "1" if finds_emulators else "0",
    }
