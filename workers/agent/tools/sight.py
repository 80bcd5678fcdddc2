"""What one run has seen of its device, and for which observation an index is good."""

import hashlib
from dataclasses import dataclass

from workers.agent.task_secrets import Secrets
from workers.agent.tools.elements import Element
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.tool import ToolCode
from workers.device.interface import AnyDevice
from workers.device.observation import Node, Observation
from workers.device.outcome import Failed


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation that the model was told of, with the elements that it was told of."""

    observation_id: str
    observation: Observation
    elements: tuple[Element, ...]


class Sight:
    """Shared by the tools of one run.

    An index is good for the latest observation, and until something is done to the device: then the same index may
    already be another element, and a tap on it would land elsewhere.
    """

    def __init__(self, device: AnyDevice, secrets: Secrets) -> None:
        self.device = device
        self.secrets = secrets
        self._latest: Seen | None = None
        self._is_stale = False
        self._count = 0
        #: Width and height in pixels, as last seen.
        self.size_px: tuple[int, int] | None = None
        #: Names what the screen shows, the same for the same content; None while nobody has looked since the last act.
        self.screen_key: str | None = None

    async def look(self) -> Observation:
        """Looks, for a tool's own use: indices stay what they are."""
        observation = await self.device.observe()
        if observation.width_px and observation.height_px:
            self.size_px = observation.width_px, observation.height_px
        self.screen_key = _screen_key(observation)
        return observation

    async def picture(self) -> bytes | Failed:
        """A screenshot. Where no tree has told the size of the screen yet, the head of the PNG does."""
        picture = await self.device.screenshot_png()
        if self.size_px is None and isinstance(picture, bytes) and picture[12:16] == b"IHDR":
            self.size_px = int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])
        return picture

    def show(self, observation: Observation, elements: tuple[Element, ...]) -> str:
        """The id of an observation of which the model is told these elements. From now on indices are of this one."""
        self._count += 1
        self._latest = Seen(f"o-{self._count}", observation, elements)
        self._is_stale = False
        return self._latest.observation_id

    def acted(self) -> None:
        """Something was done to the device, or may have been."""
        self._is_stale = True
        self.screen_key = None

    def element(self, index: int, observation_id: str) -> Element:
        """The element with that index. Raises `ToolFailed` for an index that is no longer good, or never was."""
        latest = self._latest
        if latest is None:
            raise ToolFailed(ToolCode.STALE_OBSERVATION, "nothing was observed yet")
        if observation_id != latest.observation_id:
            message = f"{observation_id[:40]!r} is not the latest observation, which is {latest.observation_id}"
            raise ToolFailed(ToolCode.STALE_OBSERVATION, message)
        if self._is_stale:
            message = (
                f"something was done to the device since {observation_id}, so index {index} may be another element now"
            )
            raise ToolFailed(ToolCode.STALE_OBSERVATION, message)
        if not 0 <= index < len(latest.elements):
            message = f"{observation_id} lists {len(latest.elements)} elements, from 0; there is no {index}"
            raise ToolFailed(ToolCode.NO_SUCH_ELEMENT, message)
        return latest.elements[index]


def _screen_key(observation: Observation) -> str:
    if not isinstance(observation.tree, Node):
        return f"unreadable {observation.tree.code}"
    digest = hashlib.sha256()
    for node in observation.tree.walk():
        # Nodes are values of text, bounds and states; their children follow in the walk.
        digest.update(repr(node).encode(errors="replace"))
    return digest.hexdigest()
