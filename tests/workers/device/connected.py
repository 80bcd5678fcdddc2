"""An emulated phone behind a real adb server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.workers.device.waiting import is_listed, until
from workers.device.adb_server import AdbServer
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer


@asynccontextmanager
async def connected(phone: Phone, adb_server: AdbServer) -> AsyncIterator[PhoneServer]:
    """The phone behind its own adbd, listed by the adb server until the block is left."""
    server = PhoneServer(phone)
    await server.start()
    await adb_server.connect(server.address)
    await until(lambda: is_listed(adb_server, server.address, "device"))
    yield server
    await adb_server.disconnect(server.address)
    await server.stop()
