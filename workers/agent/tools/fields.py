"""The field that has the focus, and what it holds."""

from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.elements import is_editable, text_in
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.tool import ToolCode
from workers.device import actions
from workers.device.keyboard import MAX_ERASED_CHARACTERS
from workers.device.observation import Node, Observation

#: An app shows what was typed a moment later.
READ_BACK_TRIES = 3
READ_BACK_PAUSE_SECONDS = 0.3


def focused_field(observation: Observation) -> Node | None:
    """The field that gets what is typed, if the tree tells."""
    tree = observation.tree
    focused = [node for node in tree.walk() if node.is_focused] if isinstance(tree, Node) else []
    return next((node for node in focused if is_editable(node)), None)


async def empty_focused_field(call: DeviceCall) -> None:
    """Deletes all that the focused field holds. Raises `ToolFailed`, also if no field has the focus."""
    field = focused_field(await call.look_at_tree())
    if field is None:
        message = "no field has the focus, so there is nothing to clear; give the field as target"
        raise ToolFailed(ToolCode.NO_SUCH_ELEMENT, message)
    if not text_in(field):
        call.did.append("found the field empty")
        return
    await call.do(actions.PressKey("KEYCODE_MOVE_END"), "moved the cursor to the end")
    await call.do(actions.EraseText(min(len(field.text), MAX_ERASED_CHARACTERS)), "cleared the field")


async def read_back(call: DeviceCall, wanted: str | None) -> Node | None:
    """The focused field, after giving the app some time to show `wanted` (None: nothing). None: it cannot be read."""
    field = None
    for number in range(READ_BACK_TRIES):
        if number:
            await call.pause(READ_BACK_PAUSE_SECONDS)
        field = focused_field(await call.look())
        if field is None or field.is_password or is_shown(wanted, field):
            return field
    return field


def is_shown(wanted: str | None, field: Node) -> bool:
    """Whether the field holds what it should; white space counts as one blank."""
    if wanted is None:
        return not text_in(field)
    return " ".join(wanted.split()) in " ".join(field.text.split())
