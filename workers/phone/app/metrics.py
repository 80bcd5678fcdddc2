"""Sizes in pixels on the 1080x2400 display, shared by the layout and the picture."""

from workers.phone.app.nodes import Button, Icon, Image, Length, Node, Progress, Text, TextField, Toggleable

DISPLAY_WIDTH_PX, DISPLAY_HEIGHT_PX = 1080, 2400
DENSITY_DPI = 420
STATUS_BAR_PX = 84
NAVIGATION_BAR_PX = 72
TITLE_BAR_PX = 156
#: The on-screen keyboard covers the lower third.
KEYBOARD_TOP_PX = 1600
PADDING_PX = 48
GAP_PX = 28
TEXT_PX = {"small": 34, "body": 44, "large": 60, "huge": 120}
LINE_SPACING = 1.35
#: The mean width of a letter of the bundled font, as a share of its height; close enough to break lines by.
_LETTER_WIDTH = 0.55

_HEIGHTS: dict[type, int] = {Button: 132, TextField: 144, Icon: 168, Progress: 168, Image: 360}


def pixels(length: Length, whole_px: int) -> int:
    """A length of the description in pixels, shares being shares of `whole_px`."""
    return int(whole_px * float(length[:-1]) / 100) if isinstance(length, str) else length


def wrapped(text: str, *, width_px: int, size_px: int) -> list[str]:
    """The text broken into lines that fit the width; long words are cut."""
    limit = max(1, int(width_px / (size_px * _LETTER_WIDTH)))
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            while len(joined) > limit:
                if line:
                    lines.append(line)
                    joined, line = word, ""
                else:
                    lines.append(joined[:limit])
                    joined = joined[limit:]
            line = joined
        lines.append(line)
    return lines


def own_height(node: Node, *, width_px: int, text: str) -> int:
    """How tall a node that holds no others wants to be."""
    match node:
        case Text():
            size_px = TEXT_PX[node.size]
            return int(len(wrapped(text, width_px=width_px, size_px=size_px)) * size_px * LINE_SPACING)
        case TextField(multiline=True):
            return 420
        case Toggleable():
            return 120
        case _:
            return _HEIGHTS.get(type(node), 0)
