"""One real adb server for each test process, and emulated phones that are connected to it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest

from workers.device.adb_server import AdbServer
from workers.device.device import Device
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer

_numbers = itertools.count(1)

DEADLINE_SECONDS = 10.0


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def adb_server(tmp_path_factory, anyio_backend) -> AsyncIterator[AdbServer]:
    async with AdbServer(
        state_folder=tmp_path_factory.mktemp("host"), finds_usb=False, finds_emulators=False, check_seconds=0.2
    ) as server:
        yield server


@pytest.fixture
def phone() -> Phone:
    return Phone(f"PHONE{next(_numbers)}")


@pytest.fixture
async def served(phone, adb_server) -> AsyncIterator[PhoneServer]:
    """The phone behind its own adbd, connected to the adb server."""
    server = PhoneServer(phone)
    await server.start()
    await adb_server.connect(server.address)
    await until(lambda: is_listed(adb_server, server.address, "device"))
    yield server
    await adb_server.disconnect(server.address)
    await server.stop()


@pytest.fixture
async def device(served, adb_server) -> AsyncIterator[Device]:
    device = Device(server=adb_server, transport_serial=served.address, may_touch=lambda: True)
    yield device
    await device.close()


async def until(condition: Callable[[], object], *, seconds: float = DEADLINE_SECONDS) -> None:
    """Waits for a condition, which may be a coroutine function; fails when the time is over."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.02)


async def is_listed(server: AdbServer, transport_serial: str, adb_state: str) -> bool:
    return (transport_serial, adb_state) in {
        (listed.transport_serial, listed.adb_state) for listed in await server.listed_devices()
    }
