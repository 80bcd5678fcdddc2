"""Values of a script, from the nodes of its YAML to JSON."""

import math
import re
from typing import Any

from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode
from corral.goal.errors import InvalidScript

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?")
_WORDS = {"true": True, "True": True, "false": False, "False": False}


def json_value(node: Node) -> Any:
    """What the node says in JSON. Only what is written without quotes can be a number, true, false or null."""
    match node:
        case ScalarNode():
            return _scalar(node)
        case ListNode():
            return [json_value(item) for item in node.items]
        case MapNode():
            return json_object(node)


def json_object(node: MapNode) -> dict[str, Any]:
    return {key: json_value(value) for key, value in node.entries.items()}


def _scalar(node: ScalarNode) -> Any:
    if node.is_null:
        return None
    if node.is_quoted:
        return node.text
    if node.text in _WORDS:
        return _WORDS[node.text]
    if _INTEGER.fullmatch(node.text):
        return int(node.text)
    # What is too large for a float is text: JSON has no infinity.
    if _NUMBER.fullmatch(node.text) and not node.text.lstrip("+-").startswith("00"):
        number = float(node.text)
        return number if math.isfinite(number) else node.text
    return node.text


def text_of(node: Node, name: str, *, step: int) -> str:
    if isinstance(node, ScalarNode) and not node.is_null:
        return node.text
    raise InvalidScript(f"`{name}` is a text", line=node.line, step=step)


def number_of(node: Node, name: str, *, at_most: float, step: int) -> float:
    value = json_value(node)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= at_most:
        return float(value)
    raise InvalidScript(f"`{name}` is a number from 0 to {at_most:g}", line=node.line, step=step)


def count_of(node: Node, name: str, *, at_most: int, step: int) -> int:
    value = json_value(node)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= at_most:
        return value
    raise InvalidScript(f"`{name}` is a whole number from 1 to {at_most}", line=node.line, step=step)
