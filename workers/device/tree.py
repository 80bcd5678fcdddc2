"""Reading the XML of `uiautomator dump`, which holds whatever the apps on the screen put into it.

No document type is accepted, so no entity can be declared; size, depth and number of nodes are limited.
"""

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from workers.device.legal_xml import legal_xml
from workers.device.observation import Bounds, Node

MAX_TREE_BYTES = 8 * 1024 * 1024
MAX_NODES = 20_000
#: Deep screens have 60 levels. Whoever walks a tree recurses.
MAX_DEPTH = 250

_DOCUMENT_STARTS = (b"<?xml", b"<hierarchy")
_DOCUMENT_END = b"</hierarchy>"
_BOUNDS = re.compile(r"\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]")


class TreeUnreadable(Exception):
    """This output holds no tree that can be read."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The root stands for the whole screen, its children for the windows on it."""

    root: Node
    rotation: int


@dataclass(slots=True)
class _Open:
    """An element whose end has not been read yet."""

    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list[Node])


def read_tree(output: bytes) -> Tree:
    """The tree in the output of a dump, which may have other lines around it.

    Raises:
        TreeUnreadable: there is none, it is broken, or it is beyond the limits.
    """
    document = _document_in(output)
    if len(document) > MAX_TREE_BYTES:
        raise TreeUnreadable(f"the tree has {len(document)} bytes; {MAX_TREE_BYTES} are read")
    reading = _Reading()
    try:
        reading.parser.Parse(legal_xml(document), True)
    except expat.ExpatError as broken:
        raise TreeUnreadable(f"the dump is no valid XML: {broken}") from broken
    return reading.tree()


def _document_in(output: bytes) -> bytes:
    starts = [start for start in map(output.find, _DOCUMENT_STARTS) if start >= 0]
    end = output.rfind(_DOCUMENT_END)
    if not starts or end < min(starts):
        raise TreeUnreadable("the dump holds no hierarchy, or only its beginning")
    return output[min(starts) : end + len(_DOCUMENT_END)]


class _Reading:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._open: list[_Open] = []
        self._root: _Open | None = None
        self._nodes = 0

    def tree(self) -> Tree:
        if self._root is None or not self._root.children:
            raise TreeUnreadable("the hierarchy is empty")
        rotation = self._root.attributes.get("rotation", "0")
        return Tree(_screen(self._root.children), int(rotation) if rotation in {"0", "1", "2", "3"} else 0)

    def _refuse_doctype(self, *_: object) -> None:
        raise TreeUnreadable("the dump declares a document type, which no phone does")

    def _start(self, _name: str, attributes: dict[str, str]) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TreeUnreadable(f"the tree has more than {MAX_NODES} nodes")
        if len(self._open) >= MAX_DEPTH:
            raise TreeUnreadable(f"the tree is more than {MAX_DEPTH} levels deep")
        self._open.append(_Open(attributes))

    def _end(self, _name: str) -> None:
        ended = self._open.pop()
        if self._open:
            self._open[-1].children.append(_node(ended))
        else:
            self._root = ended


def _node(element: _Open) -> Node:
    said = element.attributes.get
    return Node(
        text=said("text", ""),
        hint=said("hint", ""),
        content_desc=said("content-desc", ""),
        resource_id=said("resource-id", ""),
        class_name=said("class", ""),
        package=said("package", ""),
        bounds=_bounds(said("bounds", "")),
        is_enabled=said("enabled") == "true",
        is_checked=said("checked") == "true",
        is_focused=said("focused") == "true",
        is_selected=said("selected") == "true",
        is_clickable=said("clickable") == "true",
        is_scrollable=said("scrollable") == "true",
        is_password=said("password") == "true",
        children=tuple(element.children),
    )


def _screen(windows: list[Node]) -> Node:
    bounds = Bounds(
        left_px=min(window.bounds.left_px for window in windows),
        top_px=min(window.bounds.top_px for window in windows),
        right_px=max(window.bounds.right_px for window in windows),
        bottom_px=max(window.bounds.bottom_px for window in windows),
    )
    return Node(
        text="",
        hint="",
        content_desc="",
        resource_id="",
        class_name="hierarchy",
        package="",
        bounds=bounds,
        is_enabled=True,
        is_checked=False,
        is_focused=False,
        is_selected=False,
        is_clickable=False,
        is_scrollable=False,
        is_password=False,
        children=tuple(windows),
    )


def _bounds(written: str) -> Bounds:
    found = _BOUNDS.fullmatch(written)
    if found is None:
        return Bounds(0, 0, 0, 0)
    left, top, right, bottom = (int(edge) for edge in found.groups())
    return Bounds(left, top, right, bottom)
