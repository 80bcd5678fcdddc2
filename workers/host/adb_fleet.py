"""The phones that this host's adb server reaches, as a fleet."""

from collections.abc import Callable

from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import ReportedDevice
from workers.assignment.executor import DeviceGone
from workers.device.adb_server import AdbServer
from workers.device.device import Device
from workers.device.discovery import DeviceWatcher
from workers.device.facts import DeviceFacts


class AdbFleet:
    """What discovery knows, in the words of the wire; opens devices by the serial they have there."""

    def __init__(self, server: AdbServer, watcher: DeviceWatcher) -> None:
        self._server = server
        self._watcher = watcher

    def devices(self) -> list[ReportedDevice]:
        return [_reported(facts) for facts in self._watcher.devices()]

    async def wait_for_change(self) -> None:
        await self._watcher.wait_for_change()

    def open_device(self, serial: str, may_touch: Callable[[], bool]) -> Device:
        """The device for one run.

        Raises:
            DeviceGone: it is not known, or in a state in which it cannot be worked with.
        """
        found = next((facts for facts in self._watcher.devices() if facts.device_serial == serial), None)
        if found is None:
            raise DeviceGone(f"device {serial} is not connected to this host")
        if found.state is not DeviceState.READY:
            raise DeviceGone(f"device {serial} is {found.state}: {found.remedy or 'no remedy is known'}")
        return Device(server=self._server, transport_serial=found.transport_serial, may_touch=may_touch)


def _reported(facts: DeviceFacts) -> ReportedDevice:
    more = {
        "transport_serial": facts.transport_serial,
        "serial_note": facts.serial_note,
        "sdk": facts.sdk,
        "battery_temperature_celsius": facts.battery_temperature_celsius,
        "width_px": facts.width_px,
        "height_px": facts.height_px,
    }
    return ReportedDevice(
        serial=facts.device_serial,
        state=facts.state,
        remedy=facts.remedy,
        model=facts.model,
        manufacturer=facts.manufacturer,
        android_version=facts.android_version,
        battery_level=facts.battery_level,
        facts={name: value for name, value in more.items() if value is not None},
    )
