"""What a phone says about itself, read in one command."""

import re
from dataclasses import dataclass

from corral.contract.fleet import DeviceState
from workers.device.command_line import command, in_sequence
from workers.device.outcome import ErrorCode, Failed
from workers.device.screen import size_in
from workers.device.shell import Shell
from workers.device.verdict import short

_PROPERTIES = (
    "ro.serialno",
    "ro.product.model",
    "ro.product.manufacturer",
    "ro.build.version.release",
    "ro.build.version.sdk",
)
#: Whoever stops the host waits this long for a phone that hangs.
DEADLINE_SECONDS = 5.0

_END_OF_PROPERTIES = "corral-end-of-properties"
_SDK = re.compile(r"\d{1,4}")
_BATTERY_LEVEL = re.compile(r"^\s*level: (\d{1,5})\b", re.MULTILINE)
_BATTERY_SCALE = re.compile(r"^\s*scale: (\d{1,5})\b", re.MULTILINE)
_BATTERY_TEMPERATURE = re.compile(r"^\s*temperature: (-?\d{1,5})\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device of this host. `device_serial` names it to everybody else and is unique on the host.

    It is the phone's `ro.serialno`, or its transport serial where that is empty or not unique: `serial_note` then says
    why. What is not known is None. `battery_level` is in percent.
    """

    device_serial: str
    transport_serial: str
    state: DeviceState
    remedy: str | None = None
    serial_note: str | None = None
    model: str | None = None
    manufacturer: str | None = None
    android_version: str | None = None
    sdk: int | None = None
    battery_level: int | None = None
    battery_temperature_celsius: float | None = None
    width_px: int | None = None
    height_px: int | None = None


def read_facts(shell: Shell) -> DeviceFacts | Failed:
    """Asks a phone that adb lists as connected; blocks for the shell's deadline at most."""
    properties = [command("getprop", name) for name in _PROPERTIES]
    battery = [command("dumpsys", "battery"), command("wm", "size")]
    line = in_sequence([*properties, command("echo", _END_OF_PROPERTIES), *battery])
    answer = shell.ask(line, deadline_seconds=DEADLINE_SECONDS)
    if isinstance(answer, Failed):
        return answer
    said, end, rest = answer.stdout.decode(errors="replace").replace("\r", "").partition(_END_OF_PROPERTIES)
    values = said.split("\n")[: len(_PROPERTIES)]
    if not end or len(values) < len(_PROPERTIES):
        return Failed(ErrorCode.COMMAND_FAILED, f"it does not tell its properties: {short(answer.text)}")
    return _facts(shell.transport_serial, [value.strip() for value in values], rest)


def _facts(transport_serial: str, values: list[str], rest: str) -> DeviceFacts:
    serialno, model, manufacturer, android_version, sdk = values
    size = size_in(rest)
    temperature = _BATTERY_TEMPERATURE.search(rest)
    return DeviceFacts(
        device_serial=serialno or transport_serial,
        transport_serial=transport_serial,
        state=DeviceState.READY,
        serial_note=None if serialno else "the phone has no serial number of its own",
        model=model or None,
        manufacturer=manufacturer or None,
        android_version=android_version or None,
        sdk=int(sdk) if _SDK.fullmatch(sdk) else None,
        battery_level=_battery_level(rest),
        battery_temperature_celsius=int(temperature[1]) / 10 if temperature else None,
        width_px=size.width_px if size else None,
        height_px=size.height_px if size else None,
    )


def _battery_level(text: str) -> int | None:
    level, scale = _BATTERY_LEVEL.search(text), _BATTERY_SCALE.search(text)
    if level is None:
        return None
    full = int(scale[1]) if scale else 100
    return round(int(level[1]) * 100 / full) if full else None
