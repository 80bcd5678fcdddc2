"""One TCP connection from an adb server: the handshake, then packets sorted to their streams."""

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol

from workers.phone.adbd import packet as wire
from workers.phone.adbd.packet import Packet, ProtocolError, read_packet
from workers.phone.adbd.stream import Stream, StreamClosed

Service = Callable[[Stream], Awaitable[None]]


class LinkState(StrEnum):
    """How the phone behaves towards an adb server that connects."""

    DEVICE = "device"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    AUTHORIZING = "authorizing"
    #: Connections are closed as soon as they are made: the cable is out.
    GONE = "gone"


class Endpoint(Protocol):
    """What a connection needs of the phone."""

    @property
    def link_state(self) -> LinkState: ...
    @property
    def banner(self) -> str: ...
    def open_service(self, name: str) -> Service | None: ...


class Connection:
    def __init__(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.max_payload_bytes = 4096
        self._endpoint = endpoint
        self._reader = reader
        self._writer = writer
        self._with_checksum = True
        self._streams: dict[int, Stream] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Talk until either side closes. What the host runs goes on to its own end, as processes on a phone do."""
        try:
            if self._endpoint.link_state is not LinkState.GONE:
                while True:
                    await self._receive(await read_packet(self._reader))
        except (asyncio.IncompleteReadError, ConnectionError, ProtocolError):
            pass
        finally:
            for stream in self._streams.values():
                stream.on_close()
            self.drop()

    def drop(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is already closed: the socket is too
            self._writer.transport.abort()

    async def stop(self) -> None:
        """Drop the connection and end everything that was running on it."""
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def drained(self) -> None:
        """Return when everything that was started here has ended."""
        # Waiting for what is done already gives nobody else a turn: only what still runs may be waited for in a loop.
        while running := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(running)

    async def send_data(self, stream: Stream, data: bytes) -> None:
        await self._send(Packet(wire.WRTE, stream.local_id, stream.remote_id, data))

    async def send_okay(self, stream: Stream) -> None:
        await self._send(Packet(wire.OKAY, stream.local_id, stream.remote_id))

    async def _send(self, packet: Packet) -> None:
        is_handshake = packet.command in {wire.CNXN, wire.AUTH}
        self._writer.write(packet.encode(with_checksum=self._with_checksum or is_handshake))
        with contextlib.suppress(ConnectionError):  # the reading side notices and closes the streams
            await self._writer.drain()

    async def _receive(self, packet: Packet) -> None:
        match packet.command:
            case wire.CNXN:
                await self._greet(packet)
            case wire.AUTH:
                await self._answer_auth(packet)
            case wire.OPEN:
                await self._open(packet)
            case wire.WRTE | wire.OKAY | wire.CLSE:
                self._sort(packet)
            case _:
                pass  # adb asks new phones for TLS and more; what is not understood is left unanswered

    async def _greet(self, packet: Packet) -> None:
        self._with_checksum = packet.arg0 < wire.VERSION_WITHOUT_CHECKSUM
        self.max_payload_bytes = max(1, min(packet.arg1, wire.MAX_PAYLOAD_BYTES))
        match self._endpoint.link_state:
            case LinkState.DEVICE:
                version = min(packet.arg0, wire.VERSION_WITHOUT_CHECKSUM)
                banner = self._endpoint.banner.encode()
                await self._send(Packet(wire.CNXN, version, wire.MAX_PAYLOAD_BYTES, banner))
            case LinkState.UNAUTHORIZED | LinkState.AUTHORIZING:
                await self._send_token()
            case LinkState.OFFLINE | LinkState.GONE:
                pass

    async def _answer_auth(self, packet: Packet) -> None:
        # A second token sends the host on to its public key; without one it stays at "authorizing".
        if packet.arg0 == wire.AUTH_SIGNATURE and self._endpoint.link_state is LinkState.UNAUTHORIZED:
            await self._send_token()

    async def _send_token(self) -> None:
        await self._send(Packet(wire.AUTH, wire.AUTH_TOKEN, 0, secrets.token_bytes(20)))

    async def _open(self, packet: Packet) -> None:
        name = packet.payload.rstrip(b"\0").decode(errors="replace")
        is_open = self._endpoint.link_state is LinkState.DEVICE
        service = self._endpoint.open_service(name) if is_open else None
        if service is None:
            await self._send(Packet(wire.CLSE, 0, packet.arg0))
            return
        stream = Stream(self, local_id=next(self._ids), remote_id=packet.arg0)
        self._streams[stream.local_id] = stream
        await self.send_okay(stream)
        task = asyncio.create_task(self._run(service, stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, service: Service, stream: Stream) -> None:
        with contextlib.suppress(StreamClosed):
            try:
                await service(stream)
            finally:
                self._streams.pop(stream.local_id, None)
                await self._send(Packet(wire.CLSE, stream.local_id, stream.remote_id))

    def _sort(self, packet: Packet) -> None:
        stream = self._streams.get(packet.arg1)
        if stream is None:
            return
        match packet.command:
            case wire.WRTE:
                stream.on_data(packet.payload)
            case wire.OKAY:
                stream.on_okay()
            case _:
                stream.on_close()
