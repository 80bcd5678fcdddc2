"""The end of the work, as the agent sees it."""

from typing import Any, Literal

from pydantic import Field

from workers.agent.task_secrets import Secrets
from workers.agent.tools.tool import Arguments, Finish as Finished, Tool, ToolOutcome, ToolRequest

MAX_MESSAGE_CHARACTERS = 10_000


class FinishArguments(Arguments):
    status: Literal["success", "failure", "infeasible"] = Field(
        description="infeasible: it cannot be done on this device, however it is tried."
    )
    message: str = Field(
        min_length=1, max_length=MAX_MESSAGE_CHARACTERS, description="What was done, or why it was not."
    )
    output: dict[str, Any] | None = Field(default=None, description="What the goal asks for, as JSON.")


class Finish(Tool[FinishArguments]):
    name = "finish"
    description = "End the work on the goal and say how it ended. Observe first to be sure of it."
    arguments = FinishArguments
    is_read_only = True

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def run(self, arguments: FinishArguments, request: ToolRequest) -> ToolOutcome:
        request.signal.check()
        message = self._secrets.redacted(arguments.message)
        finish = Finished(arguments.status, message, self._secrets.redacted_json(arguments.output))
        return ToolOutcome("done", f"finished: {arguments.status}.", finish=finish)
