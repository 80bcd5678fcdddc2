"""Finding what a selector means in a tree, as Maestro does.

Of the elements for which text, id and state hold, those are meant that have no such element below them. Relations are
then asked of these, and their own elements are found in the same way. Among several the nearest to what it relates to
comes first, else the order of the tree; clickable ones come before all others. `index` counts from the top left.
"""

from collections.abc import Callable, Iterable

from corral.flow.selector import Selector
from workers.device.observation import Bounds, Node, Observation

_Before = Callable[[Bounds, Bounds], bool]

_RELATIONS: dict[str, _Before] = {
    "below": lambda element, other: element.top_px > other.top_px,
    "above": lambda element, other: element.top_px < other.top_px,
    "left_of": lambda element, other: element.left_px < other.left_px,
    "right_of": lambda element, other: element.left_px > other.left_px,
}


def find_element(selector: Selector, observation: Observation) -> Node | None:
    """The element that is meant, or None. Only what is on the screen counts."""
    return next(iter(find_elements(selector, observation)), None)


def find_elements(selector: Selector, observation: Observation) -> list[Node]:
    """All that match, the one that is meant first."""
    tree = observation.tree
    return _matching(selector, tree, _screen_of(observation)) if isinstance(tree, Node) else []


def visible_part(bounds: Bounds, observation: Observation) -> Bounds:
    """The part of `bounds` that is on the screen; empty if there is none."""
    return _cut(bounds, _screen_of(observation))


def _screen_of(observation: Observation) -> Bounds:
    return Bounds(0, 0, observation.width_px, observation.height_px)


def _matching(selector: Selector, root: Node, screen: Bounds) -> list[Node]:
    if selector.child_of is not None:
        parents = _matching(selector.child_of, root, screen)
        if not parents:
            return []
        root = parents[0]
    nodes = [node for node in _deepest(selector, root) if not _cut(node.bounds, screen).is_empty]
    nodes = _related(selector, nodes, root, screen)
    if selector.index is None:
        return sorted(nodes, key=lambda node: not node.is_clickable)
    from_top_left = sorted(nodes, key=lambda node: (node.bounds.top_px, node.bounds.left_px))
    position = selector.index if selector.index >= 0 else len(nodes) + selector.index
    return from_top_left[position : position + 1] if position >= 0 else []


def _deepest(selector: Selector, node: Node) -> list[Node]:
    below = [found for child in node.children for found in _deepest(selector, child)]
    if not _has_own_criteria(selector):
        return [node, *below]
    return below or ([node] if _is_itself(selector, node) else [])


def _has_own_criteria(selector: Selector) -> bool:
    states = (selector.enabled, selector.checked, selector.focused, selector.selected)
    return selector.text is not None or selector.id is not None or any(state is not None for state in states)


def _is_itself(selector: Selector, node: Node) -> bool:
    texts = (node.text, node.hint, node.content_desc)
    return (
        (selector.text is None or any(selector.text.matches_text(text) for text in texts))
        and (selector.id is None or selector.id.matches_id(node.resource_id))
        and selector.enabled in {None, node.is_enabled}
        and selector.checked in {None, node.is_checked}
        and selector.focused in {None, node.is_focused}
        and selector.selected in {None, node.is_selected}
    )


def _related(selector: Selector, nodes: list[Node], root: Node, screen: Bounds) -> list[Node]:
    for name, holds in _RELATIONS.items():
        other: Selector | None = getattr(selector, name)
        if other is not None:
            nodes = _nearest_first(nodes, _matching(other, root, screen), holds)
    if selector.contains_child is not None:
        children = {id(child) for child in _matching(selector.contains_child, root, screen)}
        nodes = [node for node in nodes if any(id(child) in children for child in node.children)]
    return nodes


def _nearest_first(nodes: list[Node], others: list[Node], holds: _Before) -> list[Node]:
    near: list[tuple[float, Node]] = []
    for node in nodes:
        distances = [_distance(node, other) for other in others if holds(node.bounds, other.bounds)]
        if distances:
            near.append((min(distances), node))
    return [node for _, node in sorted(near, key=lambda pair: pair[0])]


def _distance(node: Node, other: Node) -> float:
    (x, y), (other_x, other_y) = node.bounds.center_px, other.bounds.center_px
    return float((x - other_x) ** 2 + (y - other_y) ** 2)


def _cut(bounds: Bounds, screen: Bounds) -> Bounds:
    return Bounds(
        max(bounds.left_px, screen.left_px),
        max(bounds.top_px, screen.top_px),
        min(bounds.right_px, screen.right_px),
        min(bounds.bottom_px, screen.bottom_px),
    )


def texts_on(observation: Observation) -> Iterable[str]:
    """What can be read on the screen, for a message about what was not found."""
    root = observation.tree
    for node in root.walk() if isinstance(root, Node) else ():
        text = node.text or node.content_desc or node.hint
        if text and not node.is_password and not visible_part(node.bounds, observation).is_empty:
            yield " ".join(text.split())[:40]
