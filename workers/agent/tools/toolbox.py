"""All that an agent can do with one device."""

from workers.agent.task_secrets import Secrets
from workers.agent.tools.apps import LaunchApp, OpenUrl, StopApp
from workers.agent.tools.finish import Finish
from workers.agent.tools.keys import HideKeyboard, PressKey
from workers.agent.tools.note import Note
from workers.agent.tools.observe import Observe, ObserveWithScreenshot
from workers.agent.tools.read_text import ReadText
from workers.agent.tools.sight import Sight
from workers.agent.tools.swipes import Scroll, Swipe
from workers.agent.tools.texts import ClearText, InputText
from workers.agent.tools.tool import AnyTool
from workers.agent.tools.touches import DoubleTap, LongPress, Tap
from workers.agent.tools.waits import Wait, WaitFor
from workers.device.interface import AnyDevice

_ON_THE_DEVICE = (
    *(Tap, DoubleTap, LongPress, Swipe, Scroll),
    *(InputText, ClearText, PressKey, HideKeyboard),
    *(LaunchApp, StopApp, OpenUrl),
    *(Wait, WaitFor, ReadText),
)


def device_tools(
    device: AnyDevice, *, secrets: Secrets, takes_images: bool, notes: list[str] | None = None
) -> list[AnyTool]:
    """The tools of one run. They share what was seen last, so agents that share a device share them too.

    `takes_images`: the model does, so that it is offered screenshots. What is noted is added to `notes`.
    """
    return tools_of(Sight(device, secrets), takes_images=takes_images, notes=notes)


def tools_of(sight: Sight, *, takes_images: bool, notes: list[str] | None = None) -> list[AnyTool]:
    """The same, for whoever does something to the device beside them and tells `sight` so."""
    observe = ObserveWithScreenshot(sight) if takes_images else Observe(sight)
    on_the_device = [tool(sight) for tool in _ON_THE_DEVICE]
    return [observe, *on_the_device, Note([] if notes is None else notes, sight.secrets), Finish(sight.secrets)]
