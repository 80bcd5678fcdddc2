"""An emulated phone with Maestro's demo app behind a real adb server, and the driver between them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.workers.device.connected import connected
from workers.device.adb_server import AdbServer
from workers.device.device import Device
from workers.phone.app.description import load_app
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer

DEMO_APP = Path(__file__).parents[2] / "apps" / "com.example.example.yaml"


@pytest.fixture(scope="session")
async def demo_phone_server(adb_server) -> AsyncIterator[tuple[AdbServer, PhoneServer]]:
    async with connected(Phone("DEMO", apps=[load_app(DEMO_APP)]), adb_server) as phone:
        yield adb_server, phone


@pytest.fixture
async def demo_device(demo_phone_server) -> AsyncIterator[Device]:
    adb_server, phone = demo_phone_server
    device = Device(server=adb_server, transport_serial=phone.address, may_touch=lambda: True)
    yield device
    await device.close()
