"""The size of the screen as it is held now, and what lies outside it."""

import re
from dataclasses import dataclass

from workers.device.command_line import command, in_sequence
from workers.device.outcome import ErrorCode, Failed
from workers.device.shell import Shell
from workers.device.verdict import short

# An override by `wm size WxH` is what apps and input see, so it wins.
_OVERRIDE_SIZE = re.compile(r"Override size: (\d{1,5})x(\d{1,5})\b")
_PHYSICAL_SIZE = re.compile(r"Physical size: (\d{1,5})x(\d{1,5})\b")
_ORIENTATION = re.compile(r"\borientation=(\d)\b|mCurrentOrientation=(\d)\b")


@dataclass(frozen=True, slots=True)
class ScreenSize:
    width_px: int
    height_px: int

    def holds(self, x_px: int, y_px: int) -> bool:
        return 0 <= x_px < self.width_px and 0 <= y_px < self.height_px

    def __str__(self) -> str:
        return f"{self.width_px}x{self.height_px}"


class Screen:
    """Remembers the size, so that a tap is one command. A look at the tree tells it the rotation."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._natural: ScreenSize | None = None
        self._rotation = 0

    def turned(self, rotation: int) -> None:
        """The screen is held in quarter turns from its natural hold, as an observation saw it."""
        self._rotation = rotation

    def size(self) -> ScreenSize | Failed:
        if self._natural is None:
            failed = self._refresh()
            if failed is not None:
                return failed
        return self._as_held()

    @property
    def last_size(self) -> ScreenSize:
        """The last that is known, without asking the phone; 0x0 before it was asked."""
        return self._as_held()

    def refusal(self, *points_px: tuple[int, int]) -> Failed | None:
        """Why these points cannot be touched, or None. Asks the phone again before it refuses: it may have turned."""
        size = self.size()
        if isinstance(size, ScreenSize) and not _all_inside(size, points_px):
            failed = self._refresh()
            size = failed or self._as_held()
        if isinstance(size, Failed):
            return size
        for x_px, y_px in points_px:
            if not size.holds(x_px, y_px):
                return Failed(ErrorCode.OUT_OF_BOUNDS, f"({x_px}, {y_px}) lies outside the screen of {size} pixels")
        return None

    def _as_held(self) -> ScreenSize:
        natural = self._natural or ScreenSize(0, 0)
        return ScreenSize(natural.height_px, natural.width_px) if self._rotation % 2 else natural

    def _refresh(self) -> Failed | None:
        answer = self._shell.ask(in_sequence([command("wm", "size"), command("dumpsys", "display")]))
        if isinstance(answer, Failed):
            return answer
        natural = size_in(answer.text)
        if natural is None:
            return Failed(ErrorCode.COMMAND_FAILED, f"the phone does not tell its screen size: {short(answer.text)}")
        orientation = _ORIENTATION.search(answer.text)
        self._natural = natural
        self._rotation = int(orientation[1] or orientation[2]) if orientation else 0
        return None


def size_in(text: str) -> ScreenSize | None:
    """The natural size in the output of `wm size`."""
    found = _OVERRIDE_SIZE.search(text) or _PHYSICAL_SIZE.search(text)
    return ScreenSize(int(found[1]), int(found[2])) if found else None


def _all_inside(size: ScreenSize, points_px: tuple[tuple[int, int], ...]) -> bool:
    return all(size.holds(x_px, y_px) for x_px, y_px in points_px)
