"""Frames to PNG bytes; a screen that was drawn before is not drawn again."""

import io
from functools import lru_cache

from PIL import Image

from workers.phone.app import metrics
from workers.phone.app.placed import Frame
from workers.phone.picture.painter import paint

#: Screens kept for all phones of the process, some 60 kB each.
_KEPT = 256
_SIZE = (metrics.DISPLAY_WIDTH_PX, metrics.DISPLAY_HEIGHT_PX)


@lru_cache(maxsize=_KEPT)
def frame_png(frame: Frame, status: str) -> bytes:
    """The picture of a frame, with `status` in the bar at the top."""
    image = Image.new("RGB", _SIZE, "#ffffff")
    paint(image, frame, status)
    return _png(image)


@lru_cache(maxsize=1)
def black_png() -> bytes:
    """What a phone gives out for a screen that must not be captured."""
    return _png(Image.new("RGB", _SIZE, "#000000"))


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    # Level 1 is some four times as fast as the default and a third larger.
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
