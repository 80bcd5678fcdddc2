"""Calling the tools of one run, as the loop does."""

import asyncio
from typing import Any

from workers.agent.budget import Budget, Limits
from workers.agent.cancellation import USER, TurnCancellation
from workers.agent.place import Place
from workers.agent.task_secrets import Secrets
from workers.agent.tools.tool import ToolOutcome, ToolRequest
from workers.agent.tools.toolbox import device_tools


class Toolbox:
    """The tools over `device`, under one signal. No agent is needed: tools of the device ask nothing of it."""

    def __init__(self, device, *, secrets=None, takes_images=True, wall_seconds: float | None = None) -> None:
        self.device = device
        self.notes: list[str] = []
        self.tools = {
            tool.name: tool
            for tool in device_tools(device, secrets=secrets or Secrets(), takes_images=takes_images, notes=self.notes)
        }
        self.cancellation = TurnCancellation()
        self._budget = Budget(Limits() if wall_seconds is None else Limits(wall_seconds=wall_seconds))

    async def call(self, name: str, **arguments: Any) -> ToolOutcome:
        tool = self.tools[name]
        request = ToolRequest(None, Place(1, 1), "call", self.cancellation.signal, self._budget)
        async with asyncio.timeout(30):
            return await tool.run(tool.arguments.model_validate(arguments), request)

    def cancel(self, _=None) -> None:
        self.cancellation.abort(USER)

    async def observe(self, **arguments) -> "Screen":
        return Screen(await self.call("observe", **arguments))


class Screen:
    """What the model was told of a screen."""

    def __init__(self, outcome: ToolOutcome) -> None:
        self.outcome = outcome
        self.first, *self.lines = outcome.text.split("\n")
        self.observation_id = self.first.removeprefix("observation_id: ").split(" ")[0]

    def target(self, part: str) -> dict:
        """The one element whose line holds `part`."""
        (line,) = [line for line in self.lines if part in line]
        return {"index": int(line[1 : line.index("]")]), "observation_id": self.observation_id}


def text(value: str) -> dict:
    return {"text": value}


def point(x, y, space="px") -> dict:
    return {"x": x, "y": y, "space": space}
