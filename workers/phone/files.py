"""The phone's files, in memory: enough for push, pull, dumps and screenshots."""

import posixpath
import stat
from dataclasses import dataclass, field

from workers.phone.clock import wall_seconds

#: All files of one phone together; a hundred phones share one process.
MAX_TOTAL_BYTES = 64 * 1024 * 1024
_WRITABLE = ("/sdcard", "/data/local/tmp")
_FOLDERS = (
    "/", "/data", "/data/local", "/data/local/tmp", "/data/app", "/sdcard", "/sdcard/Download", "/sdcard/DCIM",
    "/sdcard/Pictures", "/system", "/system/bin",
)  # fmt: skip


class FileRefused(Exception):
    """The phone does not do this with this path; the text is what Android would print."""


@dataclass(slots=True)
class Entry:
    mode: int
    content: bytes = b""
    modified_at: int = field(default_factory=lambda: int(wall_seconds()))

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def size_bytes(self) -> int:
        return len(self.content)


class Files:
    def __init__(self) -> None:
        self._entries = {path: Entry(stat.S_IFDIR | 0o771) for path in _FOLDERS}

    def find(self, path: str) -> Entry | None:
        return self._entries.get(_clean(path))

    def read(self, path: str) -> bytes:
        entry = self.find(path)
        if entry is None:
            raise FileRefused("No such file or directory")
        if entry.is_folder:
            raise FileRefused("Is a directory")
        return entry.content

    def write(self, path: str, content: bytes, *, permissions: int = 0o660, modified_at: int | None = None) -> None:
        """Store a file; folders on the way are made, as adbd does for a push."""
        path = _writable(path)
        entry = self._entries.get(path)
        if entry is not None and entry.is_folder:
            raise FileRefused("Is a directory")
        used = sum(other.size_bytes for other in self._entries.values()) - (entry.size_bytes if entry else 0)
        if used + len(content) > MAX_TOTAL_BYTES:
            raise FileRefused("No space left on device")
        self.make_folder(posixpath.dirname(path))
        self._entries[path] = Entry(stat.S_IFREG | permissions & 0o777, content)
        if modified_at is not None:
            self._entries[path].modified_at = modified_at

    def make_folder(self, path: str) -> None:
        path = _clean(path)
        existing = self._entries.get(path)
        if existing is not None:
            if not existing.is_folder:
                raise FileRefused("Not a directory")
            return
        _writable(path)
        self.make_folder(posixpath.dirname(path))
        self._entries[path] = Entry(stat.S_IFDIR | 0o771)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        path = _writable(path)
        if path not in self._entries:
            raise FileRefused("No such file or directory")
        for other in [known for known in self._entries if known == path or known.startswith(path + "/")]:
            del self._entries[other]

    def children(self, path: str) -> list[tuple[str, Entry]]:
        """Names and entries in a folder, sorted; empty for what is no folder."""
        parent = _clean(path)
        return [
            (posixpath.basename(known), entry)
            for known, entry in sorted(self._entries.items(), key=lambda item: item[0])
            if known != "/" and posixpath.dirname(known) == parent
        ]


def _clean(path: str) -> str:
    path = posixpath.normpath("/" + path.lstrip("/"))
    for alias in ("/storage/emulated/0", "/mnt/sdcard", "/storage/self/primary"):
        if path == alias or path.startswith(alias + "/"):
            return "/sdcard" + path.removeprefix(alias)
    return path


def _writable(path: str) -> str:
    path = _clean(path)
    if not path.startswith(tuple(root + "/" for root in _WRITABLE)):
        raise FileRefused("Permission denied" if path.startswith(("/data", *_WRITABLE)) else "Read-only file system")
    return path
