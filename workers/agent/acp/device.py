"""The one device that the conversations of a server share."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from corral.contract.fleet import DeviceState
from workers.clock import boot_seconds
from workers.device.adb_server import AdbServer
from workers.device.device import Device
from workers.device.discovery import DeviceWatcher
from workers.device.facts import DeviceFacts

#: What is plugged in is listed within a second or two; a phone that is asked to trust this computer takes longer.
FIND_SECONDS = 10.0
#: Another phone on the same hub shows up this much later at most, and then the first is not the only one.
_SETTLE_SECONDS = 1.0
_POLL_SECONDS = 0.1


class NoSuchDevice(Exception):
    """The device is not there, is not ready, or was not chosen from several; the message says what is."""


@asynccontextmanager
async def opened_device(
    serial: str | None,
    *,
    state_folder: Path,
    adb_port: int = 0,
    addresses: Iterable[str] = (),
    finds_phones: bool = True,
    find_seconds: float = FIND_SECONDS,
) -> AsyncGenerator[Device]:
    """The device of this serial, or the only one there is, behind an adb server of its own.

    `addresses` are reached by `adb connect`; with `finds_phones`, those on USB and emulators are found too.

    Raises:
        NoSuchDevice: there is none to open.
        AdbServerFailed: the adb server could not be started.
    """
    server = AdbServer(
        state_folder=state_folder,
        port=adb_port,
        addresses=addresses,
        finds_usb=finds_phones,
        finds_emulators=finds_phones,
    )
    async with server, DeviceWatcher(server, poll_seconds=_POLL_SECONDS) as watcher:
        found = await _found(watcher, serial, find_seconds=find_seconds)
        device = Device(server=server, transport_serial=found.transport_serial, may_touch=lambda: True)
        try:
            yield device
        finally:
            await device.close()


async def _found(watcher: DeviceWatcher, serial: str | None, *, find_seconds: float) -> DeviceFacts:
    give_up_at = boot_seconds() + find_seconds
    while boot_seconds() < give_up_at:
        ready = [facts for facts in _named(watcher, serial) if facts.state is DeviceState.READY]
        if ready and serial is None:
            await asyncio.sleep(_SETTLE_SECONDS)
            return _only([facts for facts in watcher.devices() if facts.state is DeviceState.READY])
        if ready:
            return ready[0]
        await asyncio.sleep(_POLL_SECONDS)
    raise NoSuchDevice(_why_not(watcher, serial, find_seconds=find_seconds))


def _named(watcher: DeviceWatcher, serial: str | None) -> list[DeviceFacts]:
    devices = watcher.devices()
    return [facts for facts in devices if serial in (None, facts.device_serial, facts.transport_serial)]


def _only(ready: list[DeviceFacts]) -> DeviceFacts:
    if len(ready) == 1:
        return ready[0]
    serials = ", ".join(facts.device_serial for facts in ready)
    raise NoSuchDevice(f"there are several devices: {serials}; name one" if ready else "the device went away again")


def _why_not(watcher: DeviceWatcher, serial: str | None, *, find_seconds: float) -> str:
    named = _named(watcher, serial)
    if named:
        return "; ".join(f"device {facts.device_serial} is {facts.state}: {facts.remedy}" for facts in named)
    if serial is None:
        return f"no device was found in {find_seconds:g} s"
    others = ", ".join(facts.device_serial for facts in watcher.devices())
    return f"device {serial} was not found in {find_seconds:g} s; " + (f"there is {others}" if others else "none is")
