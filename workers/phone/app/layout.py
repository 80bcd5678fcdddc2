"""Puts nodes where they belong: in columns and rows, in what is left of the height, or where their `place` says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workers.phone.app import metrics
from workers.phone.app.effects import Conditions
from workers.phone.app.nodes import Box, Icon, Node, Row, Scroll, Text, TextField, Toggleable, children
from workers.phone.app.placed import Bounds, Placed
from workers.phone.app.words import Values, fill

_HIDDEN_LETTER = "•"


@dataclass(frozen=True, slots=True)
class Shown:
    """A node that is to be shown, with the variables as they are inside its for_each."""

    node: Node
    values: Values
    key: str

    @property
    def text(self) -> str:
        return fill(self.node.label, self.values)


class Layout:
    """One layout of one screen; `scrolled_px` and the scroll containers' keys carry the scrolling over to the next."""

    def __init__(self, *, package: str, values: Values, focus: str | None, scrolled_px: Mapping[str, int]) -> None:
        self._package = package
        self._values = values
        self._focus = focus
        self._scrolled_px = scrolled_px

    def screen(self, nodes: tuple[Node, ...], *, flow: Bounds, display: Bounds) -> tuple[Placed, ...]:
        """A screen's nodes: the flow in its area, what has a `place` in the whole display."""
        return self._column(self._shown(nodes, self._values, "screen"), flow, surrounding=display)

    def _shown(self, nodes: tuple[Node, ...], values: Values, key: str) -> list[Shown]:
        return [shown for number, node in enumerate(nodes) for shown in _repeat(node, values, f"{key}/{number}")]

    def _column(
        self, items: list[Shown], area: Bounds, *, surrounding: Bounds, window: Bounds | None = None
    ) -> tuple[Placed, ...]:
        flow = [item for item in items if item.node.place is None]
        wanted = [self._height(item, area) for item in flow]
        greedy = [number for number, height in enumerate(wanted) if height is None]
        left_px = area.height - sum(height or 0 for height in wanted) - metrics.GAP_PX * (len(flow) - 1)
        share_px = max(0, left_px) // len(greedy) if greedy else 0
        areas: list[Bounds] = []
        top = area.top
        for item, height in zip(flow, wanted, strict=True):
            bottom = top + (share_px if height is None else height)
            areas.append(Bounds(area.left, top, area.left + self._width(item, area), bottom))
            top = bottom + metrics.GAP_PX
        return self._all(items, areas, surrounding, window=window)

    def _row(self, items: list[Shown], area: Bounds, *, surrounding: Bounds) -> tuple[Placed, ...]:
        flow = [item for item in items if item.node.place is None]
        fixed = [None if item.node.width is None else metrics.pixels(item.node.width, area.width) for item in flow]
        left_px = area.width - sum(width or 0 for width in fixed) - metrics.GAP_PX * (len(flow) - 1)
        share_px = max(0, left_px) // max(1, fixed.count(None))
        areas: list[Bounds] = []
        left = area.left
        for item, width in zip(flow, fixed, strict=True):
            right = left + (share_px if width is None else width)
            height = self._height(item, Bounds(left, area.top, right, area.bottom))
            areas.append(Bounds(left, area.top, right, area.bottom if height is None else area.top + height))
            left = right + metrics.GAP_PX
        return self._all(items, areas, surrounding)

    def _all(
        self, items: list[Shown], flow_areas: list[Bounds], surrounding: Bounds, *, window: Bounds | None = None
    ) -> tuple[Placed, ...]:
        """Place each item that has room; with a window only those that show through it, for the sake of long lists."""
        areas = iter(flow_areas)
        spots = [_spot(item.node.place, surrounding) if item.node.place else next(areas) for item in items]
        return tuple(
            self._placed(item, spot)
            for item, spot in zip(items, spots, strict=True)
            if not (spot if window is None else spot.clipped(window)).is_empty
        )

    def _height(self, item: Shown, area: Bounds) -> int | None:
        """The height a node wants; None for one that takes what is left."""
        node = item.node
        if node.height is not None:
            return metrics.pixels(node.height, area.height)
        if isinstance(node, Scroll):
            return None
        inside = [child for child in self._shown(children(node), item.values, item.key) if child.node.place is None]
        if not inside:
            return metrics.own_height(node, width_px=self._width(item, area), text=item.text)
        padding = 2 * metrics.GAP_PX if isinstance(node, Box) else 0
        heights = [self._height(child, area) or 0 for child in inside]
        stacked = max(heights) if isinstance(node, Row) else sum(heights) + metrics.GAP_PX * (len(heights) - 1)
        return stacked + padding

    def _width(self, item: Shown, area: Bounds) -> int:
        return area.width if item.node.width is None else metrics.pixels(item.node.width, area.width)

    def _placed(self, item: Shown, bounds: Bounds) -> Placed:
        if isinstance(item.node, Scroll):
            return self._scroll(item, bounds)
        inner = self._shown(children(item.node), item.values, item.key)
        arrange = self._row if isinstance(item.node, Row) else self._column
        padding = metrics.GAP_PX if isinstance(item.node, Box) else 0
        area = Bounds(bounds.left + padding, bounds.top + padding, bounds.right - padding, bounds.bottom - padding)
        return self._leaf(item, bounds, inside=arrange(inner, area, surrounding=bounds) if inner else ())

    def _scroll(self, item: Shown, bounds: Bounds) -> Placed:
        inner = self._shown(children(item.node), item.values, item.key)
        heights = [self._height(child, bounds) or 0 for child in inner]
        content_px = sum(heights) + metrics.GAP_PX * max(0, len(heights) - 1)
        range_px = max(0, content_px - bounds.height)
        offset_px = min(self._scrolled_px.get(item.key, 0), range_px)
        area = Bounds(bounds.left, bounds.top - offset_px, bounds.right, bounds.top - offset_px + content_px)
        placed = self._column(inner, area, surrounding=area, window=bounds)
        seen = (child.clipped(bounds) for child in placed)
        return self._leaf(
            item, bounds, inside=tuple(child for child in seen if child is not None), scroll_range_px=range_px
        )

    def _leaf(self, item: Shown, bounds: Bounds, *, inside: tuple[Placed, ...], scroll_range_px: int = 0) -> Placed:
        node, values = item.node, item.values
        is_field = isinstance(node, TextField)
        sign = node.sign if isinstance(node, Icon) else ""
        typed = str(values[node.bind]) if isinstance(node, TextField) else ""
        is_password = isinstance(node, TextField) and node.password
        hint = fill(node.hint, values) if isinstance(node, TextField) else ""
        # Android shows and reports the hint as the text of an empty field.
        field_text = (_HIDDEN_LETTER * len(typed) if is_password else typed) or hint
        return Placed(
            android_class=node.class_ or node.android_class,
            package=self._package,
            bounds=bounds,
            look=node.kind,
            text=field_text if is_field else item.text,
            hint=hint,
            resource_id=_resource_id(fill(node.id, values), self._package),
            desc=fill(node.desc, values) or (sign if not node.desc else ""),
            colour=node.colour or "",
            size=node.size if isinstance(node, Text) else "",
            sign=sign,
            is_clickable=node.is_clickable,
            is_long_clickable=bool(node.long_press) or is_field,
            is_enabled=_holds(node.enabled, values),
            is_checkable=isinstance(node, Toggleable),
            is_checked=isinstance(node, Toggleable) and bool(values[node.bind]),
            is_focusable=node.is_clickable,
            is_focused=isinstance(node, TextField) and node.bind == self._focus,
            is_scrollable=scroll_range_px > 0,
            is_password=is_password,
            is_selected=_holds(node.selected, values),
            children=inside,
            node=node,
            item=values.get("item"),
            key=item.key,
            scroll_range_px=scroll_range_px,
        )


def _repeat(node: Node, values: Values, key: str) -> Iterator[Shown]:
    if node.for_each is None:
        variants: list[tuple[Values, str]] = [(values, key)]
    else:
        each = range(1, node.for_each + 1) if isinstance(node.for_each, int) else node.for_each
        variants = [({**values, "item": item}, f"{key}:{number}") for number, item in enumerate(each)]
    for own_values, own_key in variants:
        if all(condition.holds(own_values) for condition in node.when):
            yield Shown(node, own_values, own_key)


def _spot(place: tuple[int | str, int | str, int | str, int | str], surrounding: Bounds) -> Bounds:
    left, top, right, bottom = place
    return Bounds(
        surrounding.left + metrics.pixels(left, surrounding.width),
        surrounding.top + metrics.pixels(top, surrounding.height),
        surrounding.left + metrics.pixels(right, surrounding.width),
        surrounding.top + metrics.pixels(bottom, surrounding.height),
    )


def _holds(value: bool | Conditions, values: Values) -> bool:  # noqa: FBT001 - a field of the description
    return value if isinstance(value, bool) else all(condition.holds(values) for condition in value)


def _resource_id(name: str, package: str) -> str:
    return f"{package}:id/{name}" if name and ":id/" not in name else name
