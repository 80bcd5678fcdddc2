"""One conversation inside a connection, between one client and one service."""

import asyncio
from typing import Protocol


class StreamClosed(Exception):
    """The client has closed this stream; stop serving it."""


class Wire(Protocol):
    """What a stream needs of its connection."""

    @property
    def max_payload_bytes(self) -> int: ...
    async def send_data(self, stream: "Stream", data: bytes) -> None: ...
    async def send_okay(self, stream: "Stream") -> None: ...
    def drop(self) -> None: ...


class Stream:
    """Reads acknowledge what they took, so a client can never fill our memory; writes wait for the client's OKAY."""

    def __init__(self, wire: Wire, *, local_id: int, remote_id: int) -> None:
        self.local_id = local_id
        self.remote_id = remote_id
        self.closed = asyncio.Event()
        self._wire = wire
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._acknowledged = asyncio.Event()
        self._pending = b""

    async def read(self) -> bytes:
        """What the client sent next; empty when it has closed."""
        if self.closed.is_set() and self._received.empty():
            return b""
        data = await self._received.get()
        if data and not self.closed.is_set():
            await self._wire.send_okay(self)
        return data

    async def read_exactly(self, count: int) -> bytes:
        """Exactly `count` bytes.

        Raises:
            StreamClosed: the client closed before.
        """
        parts, have = [self._pending], len(self._pending)
        while have < count:
            data = await self.read()
            if not data:
                raise StreamClosed
            parts.append(data)
            have += len(data)
        joined = b"".join(parts)
        self._pending = joined[count:]
        return joined[:count]

    async def write(self, data: bytes) -> None:
        """Send all of it, one acknowledged packet after the other.

        Raises:
            StreamClosed: the client closed before it took everything.
        """
        for start in range(0, len(data), self._wire.max_payload_bytes):
            if self.closed.is_set():
                raise StreamClosed
            self._acknowledged.clear()
            await self._wire.send_data(self, data[start : start + self._wire.max_payload_bytes])
            await self._acknowledged.wait()
            if self.closed.is_set():
                raise StreamClosed

    def drop_connection(self) -> None:
        """Cut the whole connection, as a pulled cable does."""
        self._wire.drop()

    def on_data(self, data: bytes) -> None:
        self._received.put_nowait(data)

    def on_okay(self) -> None:
        self._acknowledged.set()

    def on_close(self) -> None:
        self.closed.set()
        self._acknowledged.set()
        self._received.put_nowait(b"")
