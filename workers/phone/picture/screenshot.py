"""Frames to PNG bytes; a screen that was drawn before is not drawn again."""

import struct
import zlib
from functools import lru_cache

from PIL import Image

from workers.phone.app import metrics
from workers.phone.app.placed import Frame
from workers.phone.picture.painter import paint

#: Screens kept for all phones of the process, some 100 kB each.
_KEPT = 256
_WIDTH, _HEIGHT = metrics.DISPLAY_WIDTH_PX, metrics.DISPLAY_HEIGHT_PX
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BIT_RGB = (8, 2, 0, 0, 0)


@lru_cache(maxsize=_KEPT)
def frame_png(frame: Frame, status: str) -> bytes:
    """The picture of a frame, with `status` in the bar at the top."""
    image = Image.new("RGB", (_WIDTH, _HEIGHT), "#ffffff")
    paint(image, frame, status)
    return _png(image)


@lru_cache(maxsize=1)
def black_png() -> bytes:
    """What a phone gives out for a screen that must not be captured."""
    return _png(Image.new("RGB", (_WIDTH, _HEIGHT), "#000000"))


def _png(image: Image.Image) -> bytes:
    """Encode without row filters: on flat colours they gain nothing and take Pillow more than half of its time."""
    padded = image.tobytes("raw", "RGB", 3 * _WIDTH + 1)
    # The padding byte behind each row becomes the filter byte before the next: 0, no filter.
    rows = b"\0" + padded[:-1]
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, *_EIGHT_BIT_RGB)
    return _SIGNATURE + b"".join(
        _chunk(name, content)
        for name, content in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
