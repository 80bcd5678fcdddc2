"""The phones that are reached by `adb connect`: remembered, because the server forgets them when it ends."""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from corral.contract.fleet import DeviceState
from workers.clock import boot_seconds
from workers.device.call_threads import CallThreads
from workers.device.connection import TROUBLE, ask_server
from workers.device.device_list import ListedDevice

log = structlog.stdlib.get_logger()

#: A phone that accepts a connection and says no more holds `host:connect` for ten seconds.
_CONNECT_SECONDS = 15.0
_DISCONNECT_SECONDS = 5.0
#: adb comes back to a phone by itself within seconds; one that stays offline longer is connected afresh.
_OFFLINE_SECONDS = 15.0


class Connections:
    """Each address is tried on its own, so that a silent one holds up no other."""

    def __init__(self, server_port: Callable[[], int], addresses: Iterable[str]) -> None:
        self._server_port = server_port
        self._addresses = {_with_port(address) for address in addresses}
        self._trying: dict[str, asyncio.Task[None]] = {}
        self._offline_since: dict[str, float] = {}
        self._threads = CallThreads("adb-connect", limit=32)
        #: What adb said to the last attempt that failed, for each address that is not reached now.
        self.unreachable: dict[str, str] = {}

    async def connect(self, address: str) -> str:
        """Remembers the address, connects, and returns what adb says, which can be a failure."""
        address = _with_port(address)
        self._addresses.add(address)
        said = await self._ask(f"host:connect:{address}", deadline_seconds=_CONNECT_SECONDS)
        if said.startswith(("connected to", "already connected to")):
            self.unreachable.pop(address, None)
        else:
            self.unreachable[address] = said
        return said

    async def disconnect(self, address: str) -> None:
        """Forgets the address, also one that was not connected."""
        address = _with_port(address)
        self._addresses.discard(address)
        self.unreachable.pop(address, None)
        try:
            await self._ask(f"host:disconnect:{address}", deadline_seconds=_DISCONNECT_SECONDS)
        except TROUBLE as trouble:
            log.info("adb.not_disconnected", address=address, said=str(trouble))

    async def look_after(self, listed: Iterable[ListedDevice]) -> None:
        """Connects what is missing from the list, and lets go of what is stuck in it.

        Raises:
            AdbError, EOFError, OSError, ValueError: the server does not answer.
        """
        states = {device.transport_serial: device.state for device in listed}
        await self._drop_stuck({address for address in self._addresses if states.get(address) is DeviceState.OFFLINE})
        for address in self._addresses - states.keys() - self._trying.keys():
            task = asyncio.create_task(self._try(address), name=f"adb-connect-{address}")
            self._trying[address] = task
            task.add_done_callback(lambda _, address=address: self._trying.pop(address, None))

    def cancel(self) -> list[asyncio.Task[None]]:
        """No further attempts; returns those in flight, which end when the server does."""
        tasks = list(self._trying.values())
        for task in tasks:
            task.cancel()
        return tasks

    def close(self) -> None:
        self._threads.close()

    async def _try(self, address: str) -> None:
        before = self.unreachable.get(address)
        try:
            said = await self.connect(address)
        except TROUBLE as trouble:
            said = self.unreachable[address] = str(trouble)
        if said != before:
            log.info("adb.connect", address=address, said=said)

    async def _drop_stuck(self, offline: set[str]) -> None:
        now = boot_seconds()
        self._offline_since = {address: self._offline_since.get(address, now) for address in offline}
        for address, since in self._offline_since.items():
            if now - since >= _OFFLINE_SECONDS:
                log.info("adb.stuck", address=address)
                await self._ask(f"host:disconnect:{address}", deadline_seconds=_DISCONNECT_SECONDS)

    async def _ask(self, request: str, *, deadline_seconds: float) -> str:
        return await self._threads.run(
            lambda: ask_server(self._server_port(), request, deadline_seconds=deadline_seconds)
        )


def _with_port(address: str) -> str:
    """The list names a phone by host and port; 5555 is the default of adb."""
    return address if ":" in address else f"{address}:5555"
