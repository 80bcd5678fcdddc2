"""Waiting for what comes in its own time."""

import asyncio
from collections.abc import Callable

from workers.device.adb_server import AdbServer

DEADLINE_SECONDS = 10.0


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
