"""One process at a time in a folder: a lock that ends with its process, however that ends."""

import fcntl
import os
from pathlib import Path
from typing import TextIO


class FolderInUse(Exception):
    """Another process holds this folder; `holder` is its id, as far as it could be read."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"in use by process {holder}")
        self.holder = holder


def take_folder(folder: Path) -> TextIO:
    """Take the lock of a folder that is there; it is held for as long as the answered file is open.

    Raises:
        FolderInUse: by whom.
        OSError: the lock's file cannot be written.
    """
    lock = (folder / "lock").open("a+", encoding="ascii")
    try:
        _take(lock)
    except BaseException:
        lock.close()
        raise
    return lock


def _take(lock: TextIO) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise FolderInUse(lock.read().strip() or "unknown") from None
    # Past the file's buffer: what a full disk refuses there is tried again, and fails again, when it is closed.
    os.ftruncate(lock.fileno(), 0)
    os.pwrite(lock.fileno(), f"{os.getpid()}\n".encode(), 0)
