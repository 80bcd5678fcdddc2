"""From a target to the pixels that it means."""

import re
from dataclasses import dataclass

from corral.flow.patterns import TextPattern
from corral.flow.selector import Selector
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.elements import elements_of, label_of, name_of
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.quoting import quoted
from workers.agent.tools.target import ElementTarget, PointTarget, SelectorTarget
from workers.agent.tools.tool import ToolCode
from workers.device.matching import find_elements, visible_part
from workers.device.observation import Bounds, Node, Observation
from workers.device.outcome import ErrorCode

_SHOWN_LABELS = 12
_SHOWN_LABEL_CHARACTERS = 40
#: 1000 thousandths, or 100 hundredths, are the whole screen.
_WHOLE = {"norm1000": 1000, "percent": 100}


@dataclass(frozen=True, slots=True)
class Found:
    """An element that a target means, and the part of it that can be touched."""

    node: Node
    visible: Bounds


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a finger is put, and how to tell of it."""

    x_px: int
    y_px: int
    told: str


async def spot_of(target: ElementTarget | PointTarget | SelectorTarget, call: DeviceCall) -> Spot:
    """Raises `ToolFailed` for what is not there, not clear, or outside of the screen."""
    if isinstance(target, PointTarget):
        x_px, y_px = await pixels_of(target, call)
        return Spot(x_px, y_px, f"({x_px}, {y_px})")
    found = await element_of(target, call)
    x_px, y_px = found.visible.center_px
    note = "" if found.node.is_enabled else ", which is disabled"
    return Spot(x_px, y_px, f"{name_of(found.node, call.redact)} at ({x_px}, {y_px}){note}")


async def element_of(target: ElementTarget | SelectorTarget, call: DeviceCall) -> Found:
    """Raises `ToolFailed` for what is not there, or not clear."""
    if isinstance(target, ElementTarget):
        element = call.sight.element(target.index, target.observation_id)
        return Found(element.node, element.visible)
    observation = await call.look_at_tree()
    node = _the_one(matching(target, observation), target, observation, call)
    return Found(node, visible_part(node.bounds, observation))


async def pixels_of(target: PointTarget, call: DeviceCall) -> tuple[int, int]:
    """Raises `ToolFailed` for a point outside of the screen; none is moved to its edge."""
    whole = _WHOLE.get(target.space)
    if whole is None:
        # The device itself refuses what lies beyond: it knows whether the screen was turned meanwhile.
        if target.x < 0 or target.y < 0:
            raise ToolFailed(ErrorCode.OUT_OF_BOUNDS, f"({target.x:g}, {target.y:g}) lies outside the screen")
        return int(target.x), int(target.y)
    if not (0 <= target.x <= whole and 0 <= target.y <= whole):
        message = f"({target.x:g}, {target.y:g}) lies outside the screen: {target.space} goes from 0 to {whole}"
        raise ToolFailed(ErrorCode.OUT_OF_BOUNDS, message)
    width_px, height_px = await call.size_px()
    # The whole of it is the last pixel.
    return min(int(target.x * width_px / whole), width_px - 1), min(int(target.y * height_px / whole), height_px - 1)


def matching(target: SelectorTarget, observation: Observation) -> list[Node]:
    """All that match, the text taken as it is and not as a regular expression."""
    text, id_ = (None if value is None else TextPattern.checked(re.escape(value)) for value in (target.text, target.id))
    return find_elements(Selector(text=text, id=id_), observation)


def labels_on(observation: Observation, call: DeviceCall) -> str:
    """What can be read on the screen, for a message about what is not there."""
    labels = dict.fromkeys(label_of(element.node) or element.node.hint for element in elements_of(observation))
    shown = [quoted(call.redact(label), limit=_SHOWN_LABEL_CHARACTERS) for label in labels if label]
    return ", ".join(shown[:_SHOWN_LABELS]) or "no text"


def _the_one(nodes: list[Node], target: SelectorTarget, observation: Observation, call: DeviceCall) -> Node:
    clickable = [node for node in nodes if node.is_clickable]
    if len(nodes) == 1 or len(clickable) == 1:
        return nodes[0]
    if not nodes:
        message = f"no element on the screen has {target.describe()}; it shows {labels_on(observation, call)}"
        raise ToolFailed(ToolCode.NO_SUCH_ELEMENT, message)
    named = ", ".join(f"{name_of(node, call.redact)} at {node.bounds.center_px}" for node in nodes[:_SHOWN_LABELS])
    raise ToolFailed(ToolCode.AMBIGUOUS, f"{len(nodes)} elements have {target.describe()}: {named}")
