"""The on-screen keyboard: its keys are nodes, as on a phone, and can be tapped."""

from functools import lru_cache

from workers.phone.app import metrics
from workers.phone.app.placed import Bounds, Placed

PACKAGE = "com.google.android.inputmethod.latin"
COMPONENT = f"{PACKAGE}/com.android.inputmethod.latin.LatinIME"

_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_TOOLBAR_PX = 96
_MARGIN_PX = 8
#: Names of wide keys: what a press stands for, id, description, and where it stands in its row.
_WIDE = {
    "shift": ("key_pos_shift", "Shift", 3, 0.0, 0.14),
    "DEL": ("key_pos_del", "Delete", 3, 0.86, 1.0),
    ",": ("key_pos_comma", ",", 4, 0.14, 0.24),
    " ": ("key_pos_space", "Space", 4, 0.26, 0.72),
    ".": ("key_pos_period", ".", 4, 0.74, 0.84),
    "ENTER": ("key_pos_ime_action", "Done", 4, 0.86, 1.0),
}


@lru_cache(maxsize=2)
def keyboard(*, display: Bounds, is_shifted: bool) -> Placed:
    """The keyboard's window, over the lower third of the display."""
    window = Bounds(display.left, metrics.KEYBOARD_TOP_PX, display.right, display.bottom)
    keys = [*_letters(window, is_shifted=is_shifted), *_wide_keys(window, is_shifted=is_shifted)]
    return Placed(
        android_class="android.widget.FrameLayout",
        package=PACKAGE,
        bounds=window,
        look="keyboard",
        resource_id=f"{PACKAGE}:id/keyboard_holder",
        children=tuple(keys),
    )


def _row_bounds(window: Bounds, row: int, start: float, end: float) -> Bounds:
    row_px = (window.height - _TOOLBAR_PX - metrics.NAVIGATION_BAR_PX) // (len(_ROWS) + 1)
    top = window.top + _TOOLBAR_PX // 2 + row * row_px
    return Bounds(
        window.left + int(window.width * start) + _MARGIN_PX,
        top + _MARGIN_PX,
        window.left + int(window.width * end) - _MARGIN_PX,
        top + row_px - _MARGIN_PX,
    )


def _letters(window: Bounds, *, is_shifted: bool) -> list[Placed]:
    keys: list[Placed] = []
    for row, letters in enumerate(_ROWS):
        indent = (10 - len(letters)) / 20
        for column, letter in enumerate(letters.upper() if is_shifted else letters):
            bounds = _row_bounds(window, row, indent + column / 10, indent + (column + 1) / 10)
            keys.append(_key(letter, f"key_pos_{row}_{column}", letter, bounds))
    return keys


def _wide_keys(window: Bounds, *, is_shifted: bool) -> list[Placed]:
    return [
        _key(press, name, desc, _row_bounds(window, row, start, end), is_selected=is_shifted and press == "shift")
        for press, (name, desc, row, start, end) in _WIDE.items()
    ]


def _key(press: str, name: str, desc: str, bounds: Bounds, *, is_selected: bool = False) -> Placed:
    return Placed(
        android_class="android.widget.FrameLayout",
        package=PACKAGE,
        bounds=bounds,
        look="key",
        desc=desc,
        resource_id=f"{PACKAGE}:id/{name}",
        is_clickable=True,
        is_selected=is_selected,
        press=press,
    )
