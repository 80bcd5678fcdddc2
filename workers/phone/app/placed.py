"""Where a node stands on the display and how it looks: what taps meet, dumps print and pictures show."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from workers.phone.app.nodes import Node


@dataclass(frozen=True, slots=True)
class Bounds:
    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def is_empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def contains(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def clipped(self, other: "Bounds") -> "Bounds":
        return Bounds(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def moved(self, dy: int) -> "Bounds":
        return Bounds(self.left, self.top + dy, self.right, self.bottom + dy)


@dataclass(frozen=True, slots=True)
class Placed:
    """One node of the tree.

    `look` is the kind that the picture draws. `node` and `item` lead back to the description, `key` names a scroll
    container between two layouts; `press` is what a key of the keyboard or an icon of the launcher stands for.
    """

    android_class: str
    package: str
    bounds: Bounds
    look: str
    text: str = ""
    hint: str = ""
    resource_id: str = ""
    desc: str = ""
    colour: str = ""
    size: str = ""
    sign: str = ""
    is_clickable: bool = False
    is_long_clickable: bool = False
    is_enabled: bool = True
    is_checkable: bool = False
    is_checked: bool = False
    is_focusable: bool = False
    is_focused: bool = False
    is_scrollable: bool = False
    is_password: bool = False
    is_selected: bool = False
    children: tuple["Placed", ...] = ()
    press: str = ""
    node: Node | None = field(default=None, compare=False)
    item: str | int | None = field(default=None, compare=False)
    key: str = field(default="", compare=False)
    scroll_range_px: int = field(default=0, compare=False)

    def walk(self) -> Iterator["Placed"]:
        """This node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def touched_at(self, x: int, y: int) -> "Placed | None":
        """The topmost node under a point that takes a touch; what only stands there lets it through."""
        if not self.bounds.contains(x, y):
            return None
        for child in reversed(self.children):
            if (found := child.touched_at(x, y)) is not None:
                return found
        return self if self.takes_touch else None

    @property
    def takes_touch(self) -> bool:
        return self.is_clickable or self.is_long_clickable or bool(self.press)

    def moved(self, dy: int) -> "Placed":
        """This node and all below it, further down by `dy` pixels."""
        return replace(self, bounds=self.bounds.moved(dy), children=tuple(child.moved(dy) for child in self.children))

    def clipped(self, area: Bounds) -> "Placed | None":
        """What of it can be seen through `area`; None when nothing can."""
        bounds = self.bounds.clipped(area)
        if bounds.is_empty:
            return None
        seen = (child.clipped(bounds) for child in self.children)
        return replace(self, bounds=bounds, children=tuple(child for child in seen if child is not None))


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that is on the display at one moment; two equal frames give the same picture."""

    package: str
    activity: str
    roots: tuple[Placed, ...]
    is_secure: bool = False
    toast: str = ""

    def walk(self) -> Iterator[Placed]:
        for root in self.roots:
            yield from root.walk()
