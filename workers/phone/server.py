"""Serves phones on TCP ports, each as its own adbd."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from workers.phone.adbd.connection import Connection
from workers.phone.phone import Phone

LOOPBACK = "127.0.0.1"


class PhoneServer:
    """One phone on one port: of the loopback interface, where nothing else is said, for it lets everybody in."""

    def __init__(self, phone: Phone, *, listen: str = LOOPBACK) -> None:
        self.phone = phone
        self._listen = listen
        self._connections: set[Connection] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def address(self) -> str:
        """What `adb connect` takes: `127.0.0.1:PORT`."""
        return f"{self._listen}:{self.port}"

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("this phone is not served: call start() first")
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self, *, port: int = 0) -> None:
        """Listen; port 0 picks a free one."""
        self._server = await asyncio.start_server(self._serve, self._listen, port)
        self._loop = asyncio.get_running_loop()
        self.phone.on_link_change(self.drop_connections)

    async def stop(self) -> None:
        """Stop listening and end everything that was running on the phone."""
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(connection.stop() for connection in list(self._connections)))
        # Their handlers end by themselves now; a loop that closes before them would complain.
        await asyncio.gather(*self._handlers, return_exceptions=True)

    def drop_connections(self) -> None:
        """Cut every connection, as a pulled cable does; the adb server comes back by itself. Safe from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._drop_now)

    def _drop_now(self) -> None:
        for connection in self._connections:
            connection.drop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(self.phone, reader, writer)
        self._connections.add(connection)
        if (handler := asyncio.current_task()) is not None:
            self._handlers.add(handler)
            handler.add_done_callback(self._handlers.discard)
        try:
            await connection.serve()
            await connection.drained()
        finally:
            self._connections.discard(connection)


@asynccontextmanager
async def serve_phone(phone: Phone, *, port: int = 0, listen: str = LOOPBACK) -> AsyncGenerator[PhoneServer]:
    """Serve a phone while the block runs."""
    server = PhoneServer(phone, listen=listen)
    await server.start(port=port)
    try:
        yield server
    finally:
        await server.stop()
