"""The phone itself: who it is, what is installed, what it shows, and what was asked of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.phone.activity_log import ActivityLog
from workers.phone.adbd.connection import LinkState, Service
from workers.phone.app import keyboard, metrics
from workers.phone.app.description import AppDescription
from workers.phone.display import Display
from workers.phone.faults import Faults
from workers.phone.files import Files
from workers.phone.keypad import Keypad
from workers.phone.services import open_service
from workers.phone.touch import Touch

#: What we speak; what is not listed here adb does not use.
_FEATURES = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"

_ANDROID_VERSION, _SDK = "15", "35"
_SETTINGS = {
    ("system", "screen_brightness"): "102",
    ("system", "screen_brightness_mode"): "0",
    ("system", "accelerometer_rotation"): "0",
    ("secure", "default_input_method"): keyboard.COMPONENT,
    ("global", "airplane_mode_on"): "0",
    ("global", "wifi_on"): "1",
}


@dataclass(slots=True)
class Battery:
    level_percent: int = 87
    temperature_tenths_c: int = 268
    is_charging: bool = True


class Phone:
    def __init__(
        self,
        serial: str = "CORRAL0001",
        *,
        apps: Sequence[AppDescription] = (),
        model: str = "Corral Phone",
        log_file: Path | None = None,
    ) -> None:
        self.serial = serial
        self.model = model
        self.battery = Battery()
        self.files = Files()
        self.faults = Faults()
        self.log = ActivityLog(serial, log_file)
        self.settings = dict(_SETTINGS)
        self.display = Display(list(apps))
        self.keypad = Keypad(self.display)
        self.touch = Touch(self.display, self.keypad)
        self._link_state = LinkState.DEVICE
        self._on_link_change: list[Callable[[], None]] = []

    @property
    def banner(self) -> str:
        """How adbd introduces the phone; these properties are what `adb devices -l` shows."""
        properties = {
            "ro.product.name": self._product,
            "ro.product.model": self.model,
            "ro.product.device": self._product,
        }
        return "device::" + "".join(f"{key}={value};" for key, value in properties.items()) + f"features={_FEATURES}"

    @property
    def properties(self) -> dict[str, str]:
        """What `getprop` knows."""
        return {
            "ro.serialno": self.serial,
            "ro.boot.serialno": self.serial,
            "ro.product.model": self.model,
            "ro.product.brand": "Corral",
            "ro.product.manufacturer": "Corral",
            "ro.product.name": self._product,
            "ro.product.device": self._product,
            "ro.product.cpu.abi": "arm64-v8a",
            "ro.build.version.release": _ANDROID_VERSION,
            "ro.build.version.sdk": _SDK,
            "ro.build.type": "user",
            "ro.debuggable": "0",
            "ro.sf.lcd_density": str(metrics.DENSITY_DPI),
            "persist.sys.locale": "en-US",
            "sys.boot_completed": "1",
            "init.svc.bootanim": "stopped",
        }

    @property
    def _product(self) -> str:
        return self.model.lower().replace(" ", "_")

    @property
    def link_state(self) -> LinkState:
        return self._link_state

    @link_state.setter
    def link_state(self, state: LinkState) -> None:
        """Change how the phone meets adb servers; what is connected now is cut, so that they meet it again."""
        self._link_state = state
        for notify in self._on_link_change:
            notify()

    def on_link_change(self, notify: Callable[[], None]) -> None:
        self._on_link_change.append(notify)

    def open_service(self, name: str) -> Service | None:
        return open_service(self, name)

    def reboot(self) -> None:
        """Start again: apps end, what they saved and the files stay."""
        for package in list(self.display.running):
            self.display.stop_app(package)
        self.display.go_home()
        self.display.is_on = True
