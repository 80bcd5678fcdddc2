"""Emulated phones that are connected to a real adb server."""

import itertools
from collections.abc import AsyncIterator

import pytest

from tests.workers.device.connected import connected
from workers.device.device import Device
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer

_numbers = itertools.count(1)


@pytest.fixture
def phone() -> Phone:
    return Phone(f"PHONE{next(_numbers)}")


@pytest.fixture
async def served(phone, adb_server) -> AsyncIterator[PhoneServer]:
    """The phone behind its own adbd, connected to the adb server."""
    async with connected(phone, adb_server) as server:
        yield server


@pytest.fixture
async def device(served, adb_server) -> AsyncIterator[Device]:
    device = Device(server=adb_server, transport_serial=served.address, may_touch=lambda: True)
    yield device
    await device.close()
