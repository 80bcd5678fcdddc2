"""Reading the adb server's list of devices, in which serials hold spaces and states hold sentences.

R5CT10ABCDE            device usb:1-4 product:a54x model:SM_A546B device:a54x transport_id:3
adb-R5 (2)._adb-tls-connect._tcp device product:a54x model:SM_A546B device:a54x transport_id:4
????????????           no permissions (missing udev rules? user is in the plugdev group); see [http…] usb:1-2 …
"""

import re
from dataclasses import dataclass

from corral.contract.fleet import DeviceState

_STATES = {
    "device": DeviceState.READY,
    "offline": DeviceState.OFFLINE,
    "unauthorized": DeviceState.UNAUTHORIZED,
    "authorizing": DeviceState.AUTHORIZING,
    "connecting": DeviceState.CONNECTING,
    "recovery": DeviceState.RECOVERY,
    "rescue": DeviceState.RECOVERY,
    "sideload": DeviceState.RECOVERY,
    "bootloader": DeviceState.RECOVERY,
}

REMEDIES = {
    DeviceState.OFFLINE: "Check the cable or the network, then plug it in again or restart it.",
    DeviceState.UNAUTHORIZED: "Unlock the phone and accept 'Allow USB debugging' for this host's key.",
    DeviceState.AUTHORIZING: "Wait a moment; if it stays so, unlock the phone and accept 'Allow USB debugging'.",
    DeviceState.NO_PERMISSIONS: "Give this user access to the USB device: install udev rules for Android, "
    "join the group plugdev, and plug it in again.",
    DeviceState.CONNECTING: "Wait a moment.",
    DeviceState.RECOVERY: "Start the phone into Android: it is in recovery, sideload or bootloader mode.",
    DeviceState.ABSENT: "Plug it in again, or check that it is switched on and reachable.",
}

_DETAIL = re.compile(r"\s+(?P<name>product|model|device|transport_id|usb):(?P<value>\S*)$")
_LINE = re.compile(rf"^(?P<serial>.+?)\s+(?P<state>{'|'.join(_STATES)}|no permissions\b.*)$")


@dataclass(frozen=True, slots=True)
class ListedDevice:
    """One line of the list. `adb_state` is the server's own word for the state."""

    transport_serial: str
    state: DeviceState
    adb_state: str
    remedy: str | None
    model: str | None
    transport_id: int | None


def read_device_list(listing: str) -> list[ListedDevice]:
    """Every device of a `host:devices-l` answer; a line that makes no sense is a device of unknown state."""
    return [_listed(line) for line in listing.splitlines() if line.strip()]


def _listed(line: str) -> ListedDevice:
    head, details = _without_details(line.rstrip())
    serial, adb_state = _serial_and_state(head)
    state = DeviceState.NO_PERMISSIONS if adb_state.startswith("no permissions") else _STATES.get(adb_state)
    transport_id = details.get("transport_id", "")
    return ListedDevice(
        transport_serial=serial,
        state=state or DeviceState.UNKNOWN,
        adb_state=adb_state,
        remedy=REMEDIES.get(state) if state else f"adb calls its state {adb_state!r}; plug it in again or restart it.",
        model=details.get("model", "").replace("_", " ") or None,
        transport_id=int(transport_id) if transport_id.isdecimal() else None,
    )


def _without_details(line: str) -> tuple[str, dict[str, str]]:
    details: dict[str, str] = {}
    while detail := _DETAIL.search(line):
        details.setdefault(detail["name"], detail["value"])
        line = line[: detail.start()]
    return line, details


def _serial_and_state(head: str) -> tuple[str, str]:
    known = _LINE.match(head)
    if known:
        return known["serial"].strip(), known["state"]
    serial, _, adb_state = head.strip().rpartition("\t" if "\t" in head else " ")
    return (serial.strip(), adb_state.strip()) if serial else (adb_state, "")
