"""`sync:`, the service behind push, pull and ls of adb: requests of four letters, a length and a path."""

import struct
from collections.abc import Awaitable, Callable
from functools import partial

from workers.phone.adbd.stream import Stream
from workers.phone.files import Entry, FileRefused, Files

#: The protocol's own limit for one DATA block.
_BLOCK_BYTES = 64 * 1024
_MAX_PATH_BYTES = 1024
_ENOENT = 2
_REQUEST = struct.Struct("<4sI")
_STAT = struct.Struct("<4s3I")
_STAT_V2 = struct.Struct("<4sI2Q4IQ3q")

#: Called before each request with its name and path; faults and the log hang there.
Watch = Callable[[str, str, Callable[[], Awaitable[None]]], Awaitable[None]]


async def serve_sync(stream: Stream, files: Files, watch: Watch) -> None:
    """Answer requests until QUIT or until the client closes."""
    while True:
        request, length = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if request == b"QUIT":
            return
        answer = _ANSWERS.get(request)
        if answer is None or length > _MAX_PATH_BYTES:
            await _fail(stream, f"unknown request {request!r} with {length} bytes of path")
            return
        path = (await stream.read_exactly(length)).decode(errors="replace")
        await watch(request.decode(), path, partial(answer, stream, files, path))


async def _stat(stream: Stream, files: Files, path: str) -> None:
    entry = files.find(path)
    await stream.write(_STAT.pack(b"STAT", *(_stat_fields(entry) if entry else (0, 0, 0))))


async def _stat_v2(stream: Stream, files: Files, path: str) -> None:
    await stream.write(_stat_v2_record(b"STA2", files.find(path)))


async def _lstat_v2(stream: Stream, files: Files, path: str) -> None:
    await stream.write(_stat_v2_record(b"LST2", files.find(path)))


async def _list(stream: Stream, files: Files, path: str) -> None:
    records = [_STAT.pack(b"DENT", *_stat_fields(entry)) + _name(name) for name, entry in files.children(path)]
    await stream.write(b"".join(records) + b"DONE" + bytes(16))


async def _list_v2(stream: Stream, files: Files, path: str) -> None:
    records = [_stat_v2_record(b"DNT2", entry) + _name(name) for name, entry in files.children(path)]
    await stream.write(b"".join(records) + b"DONE" + bytes(_STAT_V2.size))


async def _receive(stream: Stream, files: Files, path: str) -> None:
    try:
        content = files.read(path)
    except FileRefused as refused:
        await _fail(stream, f"open failed: {refused}")
        return
    blocks = [content[start : start + _BLOCK_BYTES] for start in range(0, len(content), _BLOCK_BYTES)]
    await stream.write(b"".join(_REQUEST.pack(b"DATA", len(block)) + block for block in blocks) + b"DONE" + bytes(4))


async def _send(stream: Stream, files: Files, path_and_mode: str) -> None:
    path, _, mode = path_and_mode.rpartition(",")
    content = bytearray()
    while True:
        kind, number = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if kind == b"DONE":
            break
        if kind != b"DATA" or number > _BLOCK_BYTES:
            await _fail(stream, f"expected DATA of at most {_BLOCK_BYTES} bytes, or DONE")
            return
        content += await stream.read_exactly(number)
    try:
        permissions = int(mode) if mode.isdecimal() else 0o660
        files.write(path, bytes(content), permissions=permissions, modified_at=number)
    except FileRefused as refused:
        await _fail(stream, f"couldn't create file: {refused}")
        return
    await stream.write(b"OKAY" + bytes(4))


async def _fail(stream: Stream, message: str) -> None:
    await stream.write(_REQUEST.pack(b"FAIL", len(message.encode())) + message.encode())


def _name(name: str) -> bytes:
    return struct.pack("<I", len(name.encode())) + name.encode()


def _stat_fields(entry: Entry) -> tuple[int, int, int]:
    return entry.mode, entry.size_bytes, entry.modified_at


def _stat_v2_record(tag: bytes, entry: Entry | None) -> bytes:
    if entry is None:
        return _STAT_V2.pack(tag, _ENOENT, *([0] * 10))
    times = (entry.modified_at,) * 3
    return _STAT_V2.pack(tag, 0, 1, 1, entry.mode, 1, 2000, 2000, entry.size_bytes, *times)


_ANSWERS: dict[bytes, Callable[[Stream, Files, str], Awaitable[None]]] = {
    b"STAT": _stat,
    b"STA2": _stat_v2,
    b"LST2": _lstat_v2,
    b"LIST": _list,
    b"LIS2": _list_v2,
    b"RECV": _receive,
    b"SEND": _send,
}
