"""One real adb server for each test process."""

from collections.abc import AsyncIterator

import pytest

from workers.device.adb_server import AdbServer


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def adb_server(tmp_path_factory, anyio_backend) -> AsyncIterator[AdbServer]:
    async with AdbServer(
        state_folder=tmp_path_factory.mktemp("host"), finds_usb=False, finds_emulators=False, check_seconds=0.2
    ) as server:
        yield server
