"""Reading the whole text of an element."""

from collections.abc import Iterator

from workers.agent.tools.aim import element_of, pixels_of
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.elements import name_of, text_in
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.quoting import quoted
from workers.agent.tools.target import PointTarget, Target
from workers.agent.tools.tool import Arguments, ToolCode, ToolOutcome
from workers.device.observation import Node

MAX_READ_CHARACTERS = 10_000


class ReadTextArguments(Arguments):
    target: Target


class ReadText(DeviceTool[ReadTextArguments]):
    name = "read_text"
    description = "Read the whole text of an element, of which an observation may show only the beginning."
    arguments = ReadTextArguments
    is_read_only = True

    async def act(self, arguments: ReadTextArguments, call: DeviceCall) -> ToolOutcome:
        target = arguments.target
        node = (
            await _node_at(target, call) if isinstance(target, PointTarget) else (await element_of(target, call)).node
        )
        if node.is_password:
            raise ToolFailed(ToolCode.POLICY_DENIED, "the text of a password field is not read")
        # Each by itself, so that two texts side by side do not hide a secret in the seam.
        text = "\n".join(call.redact(part) for part in _texts_of(node))
        if not text:
            raise ToolFailed(ToolCode.NO_SUCH_ELEMENT, f"{name_of(node, call.redact)} has no text")
        return ToolOutcome("done", f"text: {quoted(text, limit=MAX_READ_CHARACTERS)}")


async def _node_at(target: PointTarget, call: DeviceCall) -> Node:
    """The innermost element with a text at that point."""
    x_px, y_px = await pixels_of(target, call)
    tree = (await call.look_at_tree()).tree
    found: Node | None = None
    for node in tree.walk() if isinstance(tree, Node) else ():
        bounds = node.bounds
        is_there = bounds.left_px <= x_px < bounds.right_px and bounds.top_px <= y_px < bounds.bottom_px
        if is_there and (text_in(node) or node.content_desc):
            found = node
    if found is None:
        raise ToolFailed(ToolCode.NO_SUCH_ELEMENT, f"no element with a text is at ({x_px}, {y_px})")
    return found


def _texts_of(node: Node) -> Iterator[str]:
    """Its own text; of one that has none, the texts inside of it."""
    own = text_in(node) or node.content_desc
    if own:
        yield own
        return
    for child in node.children:
        if not child.is_password:
            yield from _texts_of(child)
