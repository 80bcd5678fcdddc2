"""The few strokes that every look is made of."""

from functools import lru_cache

from PIL import ImageDraw, ImageFont

from workers.phone.app import metrics
from workers.phone.app.placed import Bounds, Placed

INK, FAINT, LINE, PAPER, ACCENT, SOFT = "#1b1f27", "#7a8290", "#c9d0db", "#ffffff", "#3567d6", "#e8eefb"
#: Nobody reads smaller letters, and Pillow refuses those of no size.
_LEAST_FONT_PX = 8


@lru_cache(maxsize=32)
def font(size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(max(_LEAST_FONT_PX, size_px))


class Strokes:
    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self.draw = draw

    def ink(self, node: Placed, colour: str) -> str:
        return colour if node.is_enabled else LINE

    def surface(self, bounds: Bounds, colour: str, *, radius: int) -> None:
        radius = min(radius, bounds.width // 2, bounds.height // 2)
        self.draw.rounded_rectangle(corners(bounds), radius, fill=colour)

    def line(self, text: str, bounds: Bounds, colour: str, size_px: int, *, is_centred: bool = False) -> None:
        middle = (bounds.top + bounds.bottom) // 2
        at = ((bounds.left + bounds.right) // 2, middle) if is_centred else (bounds.left, middle)
        self.draw.text(at, text.replace("\n", " "), colour, font(size_px), anchor="mm" if is_centred else "lm")

    def lines(self, lines: list[str], bounds: Bounds, colour: str, size_px: int, *, is_centred: bool = True) -> None:
        step = int(size_px * metrics.LINE_SPACING)
        top = (bounds.top + bounds.bottom - step * len(lines)) // 2
        for number, line in enumerate(lines):
            row = Bounds(bounds.left, top + number * step, bounds.right, top + (number + 1) * step)
            self.line(line, row, colour, size_px, is_centred=is_centred)


def corners(bounds: Bounds) -> tuple[int, int, int, int]:
    return bounds.left, bounds.top, max(bounds.left, bounds.right - 1), max(bounds.top, bounds.bottom - 1)
