"""What was seen of a device at one moment."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from workers.device.outcome import ErrorCode


@dataclass(frozen=True, slots=True)
class Bounds:
    """A rectangle in pixels; right and bottom are exclusive."""

    left_px: int
    top_px: int
    right_px: int
    bottom_px: int

    @property
    def center_px(self) -> tuple[int, int]:
        return (self.left_px + self.right_px) // 2, (self.top_px + self.bottom_px) // 2

    @property
    def is_empty(self) -> bool:
        return self.right_px <= self.left_px or self.bottom_px <= self.top_px


@dataclass(frozen=True, slots=True)
class Node:
    """One element of the screen's tree, as uiautomator reports it."""

    text: str
    hint: str
    content_desc: str
    resource_id: str
    class_name: str
    package: str
    bounds: Bounds
    is_enabled: bool
    is_checked: bool
    is_focused: bool
    is_selected: bool
    is_clickable: bool
    is_scrollable: bool
    is_password: bool
    children: tuple["Node", ...] = field(default=(), repr=False)

    def walk(self) -> Iterator["Node"]:
        """This node and everything below it, parents before children."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class TreeMissing:
    """The tree could not be read. This is not an empty screen."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at the screen. `tree` is the root node, or the reason why there is none."""

    observation_id: str
    width_px: int
    height_px: int
    tree: Node | TreeMissing
    is_keyboard_shown: bool
