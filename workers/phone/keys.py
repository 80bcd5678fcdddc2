"""Android's key codes: their names, and what they stand for."""

import string

_NAMED = {
    "HOME": 3,
    "BACK": 4,
    "CALL": 5,
    "ENDCALL": 6,
    "DPAD_UP": 19,
    "DPAD_DOWN": 20,
    "DPAD_LEFT": 21,
    "DPAD_RIGHT": 22,
    "DPAD_CENTER": 23,
    "VOLUME_UP": 24,
    "VOLUME_DOWN": 25,
    "POWER": 26,
    "CAMERA": 27,
    "CLEAR": 28,
    "COMMA": 55,
    "PERIOD": 56,
    "TAB": 61,
    "SPACE": 62,
    "ENTER": 66,
    "DEL": 67,
    "MINUS": 69,
    "EQUALS": 70,
    "SLASH": 76,
    "AT": 77,
    "MENU": 82,
    "SEARCH": 84,
    "MEDIA_PLAY_PAUSE": 85,
    "MEDIA_STOP": 86,
    "MEDIA_NEXT": 87,
    "MEDIA_PREVIOUS": 88,
    "MUTE": 91,
    "PAGE_UP": 92,
    "PAGE_DOWN": 93,
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "NUMPAD_ENTER": 160,
    "VOLUME_MUTE": 164,
    "APP_SWITCH": 187,
    "SLEEP": 223,
    "WAKEUP": 224,
    "PASTE": 279,
}
_LETTERS = {letter: 29 + number for number, letter in enumerate(string.ascii_lowercase)}
_DIGITS = {digit: 7 + number for number, digit in enumerate(string.digits)}
_SIGNS = {",": 55, ".": 56, " ": 62, "-": 69, "=": 70, "/": 76, "@": 77}
_CODES = {**_NAMED, **{letter.upper(): code for letter, code in _LETTERS.items()}, **_DIGITS}
_MEANT = {
    **{code: name for name, code in _NAMED.items()},
    **{code: sign for sign, code in (*_LETTERS.items(), *_DIGITS.items(), *_SIGNS.items())},
    _NAMED["ESCAPE"]: "BACK",
    _NAMED["NUMPAD_ENTER"]: "ENTER",
}


def key_meant(word: str) -> str | None:
    """What `66`, `ENTER` or `KEYCODE_ENTER` stands for: a letter or a name; None for what is no key."""
    code = int(word) if word.isdecimal() else _CODES.get(word.upper().removeprefix("KEYCODE_"))
    return None if code is None else _MEANT.get(code, "UNKNOWN")
