"""Keys, and the keyboard on the screen."""

import re

from pydantic import Field, field_validator

from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.tool import Arguments
from workers.device import actions

#: What people call the keys, and Android's names for them.
KEYS = {
    "back": "KEYCODE_BACK",
    "home": "KEYCODE_HOME",
    "enter": "KEYCODE_ENTER",
    "recents": "KEYCODE_APP_SWITCH",
    "delete": "KEYCODE_DEL",
    "tab": "KEYCODE_TAB",
    "escape": "KEYCODE_ESCAPE",
    "menu": "KEYCODE_MENU",
    "power": "KEYCODE_POWER",
    "volume_up": "KEYCODE_VOLUME_UP",
    "volume_down": "KEYCODE_VOLUME_DOWN",
    "search": "KEYCODE_SEARCH",
    "paste": "KEYCODE_PASTE",
    "space": "KEYCODE_SPACE",
}
_NAMES = ", ".join(KEYS)
_KEY_CODE = re.compile(r"KEYCODE_[A-Z0-9_]{1,60}")


class PressKeyArguments(Arguments):
    key: str = Field(description=f"One of {_NAMES}; or an Android key code by name, such as KEYCODE_DPAD_UP.")

    @field_validator("key")
    @classmethod
    def _is_known(cls, key: str) -> str:
        if key not in KEYS and not _KEY_CODE.fullmatch(key):
            raise ValueError(f"must be one of {_NAMES}, or a name like KEYCODE_DPAD_UP")
        return key


class NoArguments(Arguments):
    pass


class PressKey(DeviceTool[PressKeyArguments]):
    name = "press_key"
    description = "Press a key once."
    arguments = PressKeyArguments

    async def act(self, arguments: PressKeyArguments, call: DeviceCall) -> None:
        await call.do(actions.PressKey(KEYS.get(arguments.key, arguments.key)), f"pressed {arguments.key}")


class HideKeyboard(DeviceTool[NoArguments]):
    name = "hide_keyboard"
    description = "Put the keyboard on the screen away; without one, nothing is done."
    arguments = NoArguments

    async def act(self, arguments: NoArguments, call: DeviceCall) -> None:  # noqa: ARG002 - there are none
        await call.do(actions.HideKeyboard(), "the keyboard is hidden")
