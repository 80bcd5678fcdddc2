"""The device as a step sees it: looks that wait, and actions that fail by an exception."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from corral.flow.selector import Selector
from workers.clock import boot_seconds
from workers.device.actions import Action
from workers.device.interface import AnyDevice
from workers.device.matching import find_element, texts_on, visible_part
from workers.device.observation import Bounds, Node, Observation, TreeMissing
from workers.device.outcome import Done, ErrorCode, Failed, Unknown
from workers.run.failure import StepFailed
from workers.run.lookup_times import LookupTimes
from workers.run.stop import Stop

T = TypeVar("T")

_SHOWN_TEXTS = 8


@dataclass(frozen=True, slots=True)
class Found:
    """An element, what it was seen in, and the part of it that is on the screen."""

    node: Node
    observation: Observation
    visible: Bounds


class Screen:
    def __init__(self, device: AnyDevice, *, stop: Stop, times: LookupTimes) -> None:
        self.device = device
        self.stop = stop
        self.times = times

    async def act(self, action: Action) -> None:
        """Does `action` once. Raises `StepFailed`, also when nobody knows whether it happened."""
        match await self.device.perform(action):
            case Done():
                return
            case Failed(code, message):
                raise StepFailed(f"{message} ({code})", code=code)
            case Unknown(code, message):
                note = "it may have happened all the same, so it was not repeated"
                raise StepFailed(f"{message} ({code}); {note}", code=code, is_unknown=True)

    async def look(self) -> Observation:
        """One look. Its tree may be missing; only a lost right to touch the device is an error at once."""
        observation = await self.device.observe()
        tree = observation.tree
        if isinstance(tree, TreeMissing) and tree.code is ErrorCode.LEASE_LOST:
            raise StepFailed(f"{tree.message} ({tree.code})", code=tree.code)
        return observation

    async def look_at_tree(self, seconds: float) -> Observation:
        """A look that has a tree, however many it takes."""
        return await self._look_until(lambda observation: observation, seconds, "the screen could not be read")

    async def find(self, selector: Selector, *, seconds: float) -> Found:
        """Waits until the element is there. Raises `StepFailed` when the time is up."""
        problem = f"no element with {selector.describe()}"
        return await self._look_until(lambda observation: found_in(observation, selector), seconds, problem)

    async def wait_until_gone(self, selector: Selector, *, seconds: float) -> None:
        """Waits until the element is not there. A screen that cannot be read does not count as gone."""

        def without_it(observation: Observation) -> Observation | None:
            return observation if find_element(selector, observation) is None else None

        await self._look_until(without_it, seconds, f"still visible: {selector.describe()}")

    async def _look_until(self, sought: Callable[[Observation], T | None], seconds: float, problem: str) -> T:
        """What `sought` finds in the first look that has it; it is asked only about looks that have a tree."""
        end = boot_seconds() + seconds
        away: TreeMissing | None = None
        while True:
            observation = await self.look()
            seen = sought(observation) if isinstance(observation.tree, Node) else None
            if seen is not None:
                return seen
            if isinstance(observation.tree, TreeMissing) and observation.tree.code.is_infrastructure:
                away = observation.tree
            left = end - boot_seconds()
            if left <= 0:
                raise _not_seen(observation, problem, seconds, away=away)
            await self.stop.wait(min(left, self.times.poll_seconds))


def found_in(observation: Observation, selector: Selector) -> Found | None:
    """The element in this one look."""
    node = find_element(selector, observation)
    return Found(node, observation, visible_part(node.bounds, observation)) if node else None


def _not_seen(observation: Observation, problem: str, seconds: float, *, away: TreeMissing | None) -> StepFailed:
    within = f"{problem}, within {seconds:g} s"
    if isinstance(observation.tree, TreeMissing):
        missing = observation.tree
        return StepFailed(
            f"{within}; the screen could not be read: {missing.message} ({missing.code})", code=missing.code
        )
    texts = list(islice(dict.fromkeys(texts_on(observation)), _SHOWN_TEXTS))
    shown = ", ".join(f'"{text}"' for text in texts) or "no text"
    if away is not None:
        # A phone that comes back has restarted as likely as not, and what it shows then is no fault of the flow.
        gone = f"the device was away meanwhile: {away.message} ({away.code})"
        return StepFailed(f"{within}; the screen shows {shown}; {gone}", code=away.code)
    return StepFailed(f"{within}; the screen shows {shown}", code=ErrorCode.NOT_FOUND)
