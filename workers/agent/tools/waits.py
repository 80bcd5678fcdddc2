"""Waiting, which ends as soon as the turn is interrupted."""

from typing import Literal

from pydantic import Field

from workers.agent.tools.aim import labels_on, matching
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.failures import ToolFailed
from workers.agent.tools.target import SelectorTarget, Whole
from workers.agent.tools.tool import Arguments, ToolOutcome
from workers.clock import boot_seconds
from workers.device.observation import Node, Observation
from workers.device.outcome import ErrorCode

MAX_WAIT_MS = 60_000
MAX_WAIT_FOR_MS = 120_000
#: Between two looks. A look at a real phone takes a second by itself.
POLL_SECONDS = 0.3


class WaitArguments(Arguments):
    ms: Whole = Field(ge=0, le=MAX_WAIT_MS)


class WaitForArguments(Arguments):
    target: SelectorTarget
    state: Literal["visible", "gone"] = "visible"
    timeout_ms: Whole = Field(default=10_000, ge=0, le=MAX_WAIT_FOR_MS)


class Wait(DeviceTool[WaitArguments]):
    name = "wait"
    description = "Wait for some time. To wait for something that is to appear, use wait_for."
    arguments = WaitArguments
    is_read_only = True

    async def act(self, arguments: WaitArguments, call: DeviceCall) -> ToolOutcome:
        await call.pause(arguments.ms / 1000)
        return ToolOutcome("done", f"done: waited {arguments.ms} ms.")


class WaitFor(DeviceTool[WaitForArguments]):
    name = "wait_for"
    description = "Wait until an element is on the screen, or is gone from it."
    arguments = WaitForArguments
    is_read_only = True

    async def act(self, arguments: WaitForArguments, call: DeviceCall) -> ToolOutcome:
        end = boot_seconds() + arguments.timeout_ms / 1000
        sought = f"{arguments.target.describe()} is {arguments.state}"
        while True:
            observation = await call.look()
            if _is_so(arguments, observation):
                return ToolOutcome("done", f"done: {sought}.")
            left = end - boot_seconds()
            if left <= 0:
                message = f"after {arguments.timeout_ms} ms it is not so that {sought}; {_shown(observation, call)}"
                raise ToolFailed(ErrorCode.TIMEOUT, message)
            await call.pause(min(left, POLL_SECONDS))


def _is_so(arguments: WaitForArguments, observation: Observation) -> bool:
    """A screen that cannot be read shows nothing, and nothing is gone from it."""
    if not isinstance(observation.tree, Node):
        return False
    return bool(matching(arguments.target, observation)) is (arguments.state == "visible")


def _shown(observation: Observation, call: DeviceCall) -> str:
    if isinstance(observation.tree, Node):
        return f"the screen shows {labels_on(observation, call)}"
    return f"the screen could not be read ({observation.tree.code}): {observation.tree.message}"
