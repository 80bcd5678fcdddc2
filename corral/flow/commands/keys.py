"""Keys of the phone. `pressKey` takes the names that Maestro gives them, in any case."""

from typing import Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.fields import Fields

#: Name in a flow, in lower case, and Android's key code.
KEY_CODES = {
    "enter": "KEYCODE_ENTER",
    "backspace": "KEYCODE_DEL",
    "back": "KEYCODE_BACK",
    "home": "KEYCODE_HOME",
    "lock": "KEYCODE_SLEEP",
    "power": "KEYCODE_POWER",
    "tab": "KEYCODE_TAB",
    "escape": "KEYCODE_ESCAPE",
    "volume up": "KEYCODE_VOLUME_UP",
    "volume down": "KEYCODE_VOLUME_DOWN",
    "remote dpad up": "KEYCODE_DPAD_UP",
    "remote dpad down": "KEYCODE_DPAD_DOWN",
    "remote dpad left": "KEYCODE_DPAD_LEFT",
    "remote dpad right": "KEYCODE_DPAD_RIGHT",
    "remote dpad center": "KEYCODE_DPAD_CENTER",
    "remote media play pause": "KEYCODE_MEDIA_PLAY_PAUSE",
    "remote media stop": "KEYCODE_MEDIA_STOP",
    "remote media next": "KEYCODE_MEDIA_NEXT",
    "remote media previous": "KEYCODE_MEDIA_PREVIOUS",
    "remote media rewind": "KEYCODE_MEDIA_REWIND",
    "remote media fast forward": "KEYCODE_MEDIA_FAST_FORWARD",
}


class Back(FlowCommand):
    command: Literal["back"] = "back"


class HideKeyboard(FlowCommand):
    command: Literal["hideKeyboard"] = "hideKeyboard"


class PressKey(FlowCommand):
    command: Literal["pressKey"] = "pressKey"
    short_form: ClassVar[str | None] = "key"

    #: Android's key code by name, such as `KEYCODE_HOME`.
    key_code: str

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        key_code = fields.choice("key", KEY_CODES)
        if key_code is None:
            raise fields.missing("key")
        return {"key_code": key_code}

    @property
    def subject(self) -> str:
        return self.key_code.removeprefix("KEYCODE_").lower()
