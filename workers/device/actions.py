"""What can be done to a device: one model per action, coordinates always in pixels of the current screen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tap:
    x_px: int
    y_px: int


@dataclass(frozen=True, slots=True)
class DoubleTap:
    x_px: int
    y_px: int


@dataclass(frozen=True, slots=True)
class LongPress:
    x_px: int
    y_px: int
    duration_ms: int = 1000


@dataclass(frozen=True, slots=True)
class Swipe:
    """The finger goes down at `from`, moves for `duration_ms`, and is lifted at `to`."""

    from_x_px: int
    from_y_px: int
    to_x_px: int
    to_y_px: int
    duration_ms: int = 400


@dataclass(frozen=True, slots=True)
class InputText:
    """Types into whatever has the focus. What plain `input text` cannot type fails as `text_unsupported`."""

    text: str


@dataclass(frozen=True, slots=True)
class EraseText:
    """Deletes up to `characters` characters before the cursor."""

    characters: int


@dataclass(frozen=True, slots=True)
class PressKey:
    """`key` is an Android key code by name, such as `KEYCODE_BACK`."""

    key: str


@dataclass(frozen=True, slots=True)
class HideKeyboard:
    pass


@dataclass(frozen=True, slots=True)
class LaunchApp:
    """Starts the launcher activity of `package` and verifies that it came to the foreground."""

    package: str
    clear_state: bool = False
    stop_first: bool = True


@dataclass(frozen=True, slots=True)
class StopApp:
    package: str


@dataclass(frozen=True, slots=True)
class ClearApp:
    package: str


@dataclass(frozen=True, slots=True)
class OpenUrl:
    """Has the phone open `url` with the app that it belongs to: http, https, or the scheme of an app."""

    url: str


Action = (
    Tap
    | DoubleTap
    | LongPress
    | Swipe
    | InputText
    | EraseText
    | PressKey
    | HideKeyboard
    | LaunchApp
    | StopApp
    | ClearApp
    | OpenUrl
)
