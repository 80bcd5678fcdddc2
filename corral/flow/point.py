"""A place on the screen or in an element: `50%,80%` or `100,200`."""

import re

from pydantic import BaseModel, ConfigDict

from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields

_PERCENT = re.compile(r"\s*(\d{1,3})%\s*,\s*(\d{1,3})%\s*")
_PIXELS = re.compile(r"\s*(\d{1,5})\s*,\s*(\d{1,5})\s*")
_ALL = 100


class Point(BaseModel):
    """In pixels, or in hundredths of the width and height."""

    model_config = ConfigDict(frozen=True)

    x: int
    y: int
    is_percent: bool

    def within(self, width_px: int, height_px: int) -> tuple[int, int]:
        """In pixels. 100 % is the last pixel; a pixel outside stays outside, for the device to refuse."""
        if not self.is_percent:
            return self.x, self.y
        return min(width_px * self.x // _ALL, width_px - 1), min(height_px * self.y // _ALL, height_px - 1)

    def describe(self) -> str:
        unit = "%" if self.is_percent else ""
        return f"{self.x}{unit},{self.y}{unit}"


def read_point(fields: Fields, name: str) -> Point | None:
    text = fields.text(name)
    if text is None:
        return None
    percent, pixels = _PERCENT.fullmatch(text), _PIXELS.fullmatch(text)
    if percent and max(int(percent[1]), int(percent[2])) <= _ALL:
        return Point(x=int(percent[1]), y=int(percent[2]), is_percent=True)
    if pixels:
        return Point(x=int(pixels[1]), y=int(pixels[2]), is_percent=False)
    raise InvalidCommand(
        f"`{name}` is `{text[:60]}`", fields.place(name), allowed=('"50%,80%" (0 to 100)', '"100,200" (pixels)')
    )
