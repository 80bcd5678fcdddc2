"""The devices of this host, as the loops and the wire know them."""

from collections.abc import Sequence
from typing import Protocol

from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import ReportedDevice


class Fleet(Protocol):
    """Where the loops learn which devices there are."""

    def devices(self) -> Sequence[ReportedDevice]:
        """All of them, whatever their state; never blocks."""
        ...

    async def wait_for_change(self) -> object:
        """Returns at the next change of any device."""
        ...


def ready_serials(fleet: Fleet) -> frozenset[str]:
    """The devices that can be worked with now, busy or not."""
    return frozenset(device.serial for device in fleet.devices() if device.state is DeviceState.READY)
