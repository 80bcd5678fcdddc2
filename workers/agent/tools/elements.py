"""Which elements of a tree a model is told of, and how."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from workers.agent.tools.quoting import quoted
from workers.device.matching import visible_part
from workers.device.observation import Bounds, Node, Observation

#: Takes secrets out of a text. Before the text is cut: half a secret would not be recognised.
Redact = Callable[[str], str]

_EDITABLE = re.compile(r"EditText|AutoComplete|SearchView\$Search")
_PLAIN = re.compile(r"[\w.:/$-]{1,100}", re.ASCII)
_BULLETS = "••••"


@dataclass(frozen=True, slots=True)
class Element:
    """One element of one observation, and the part of it that can be touched."""

    index: int
    node: Node
    visible: Bounds


def elements_of(observation: Observation) -> list[Element]:
    """Those that matter, in the order of the tree: they can be seen, and say something or take a touch."""
    tree = observation.tree
    elements = list[Element]()
    for node in tree.walk() if isinstance(tree, Node) else ():
        visible = visible_part(node.bounds, observation)
        if not visible.is_empty and _matters(node):
            elements.append(Element(len(elements), node, visible))
    return elements


def is_editable(node: Node) -> bool:
    """uiautomator does not say it; classes do."""
    return node.is_password or _EDITABLE.search(node.class_name) is not None


def line_of(element: Element, redact: Redact) -> str:
    """`[0] Button "Save" id=save clickable hint="…" @left,top,right,bottom`."""
    node, visible = element.node, element.visible
    hint = [f"hint={quoted(redact(node.hint))}"] if node.hint else []
    bounds = f"@{visible.left_px},{visible.top_px},{visible.right_px},{visible.bottom_px}"
    return " ".join(
        [f"[{element.index}]", *_name_parts(node, redact), *_flags(node), *_description(node, redact), *hint, bounds]
    )


def name_of(node: Node, redact: Redact) -> str:
    """The element as it is named in a message: `Button "Save" id=save`."""
    hint = [] if label_of(node) or not node.hint else [f"hint={quoted(redact(node.hint))}"]
    return " ".join([*_name_parts(node, redact), *hint])


def label_of(node: Node) -> str:
    """What stands on the element; of a password no more than that there is one."""
    text = text_in(node)
    if text and node.is_password:
        return _BULLETS
    return text or node.content_desc


def text_in(node: Node) -> str:
    """The text of the element itself: phones report the hint of an empty field as its text."""
    return "" if node.text == node.hint else node.text


def _matters(node: Node) -> bool:
    says = node.text or node.content_desc or node.hint or node.resource_id
    return bool(says) or node.is_clickable or node.is_scrollable or is_editable(node)


def _name_parts(node: Node, redact: Redact) -> list[str]:
    kind = re.sub(r"\W", "", node.class_name.rpartition(".")[2], flags=re.ASCII)[:50] or "View"
    label = label_of(node)
    name = redact(node.resource_id.rpartition("/")[2] or node.resource_id)
    return [
        kind,
        *([quoted(redact(label))] if label else []),
        *([f"id={name if _PLAIN.fullmatch(name) else quoted(name)}"] if name else []),
    ]


def _description(node: Node, redact: Redact) -> list[str]:
    is_told_already = not text_in(node) or node.content_desc in {"", node.text}
    return [] if is_told_already else [f"desc={quoted(redact(node.content_desc))}"]


def _flags(node: Node) -> list[str]:
    flags = {
        "clickable": node.is_clickable,
        "focused": node.is_focused,
        "checked": node.is_checked,
        "disabled": not node.is_enabled,
        "selected": node.is_selected,
        "scrollable": node.is_scrollable,
        "password": node.is_password,
        "editable": is_editable(node),
    }
    return [flag for flag, is_set in flags.items() if is_set]
