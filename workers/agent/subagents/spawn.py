"""`spawn_agent`: a child agent on the same device, for a part of the goal."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from workers.agent.subagents.child import run_child
from workers.agent.subagents.request import SubagentRequest, SubagentResult
from workers.agent.system_prompt import SystemPrompt
from workers.agent.tools.tool import AnyTool, Arguments, Tool, ToolOutcome, ToolRequest

#: Children have no children: each level costs a whole conversation with the model, and one device has work for one.
MAX_DEPTH = 1


class SpawnAgentArguments(Arguments):
    goal: str = Field(
        min_length=1,
        description="What the other agent is to reach, in full sentences. Spawned, it knows nothing but this.",
    )
    mode: Literal["spawn", "fork"] = Field(
        "spawn",
        description="`spawn`: it begins with nothing but its goal. `fork`: it knows all that was said and done so far.",
    )
    name: str = Field("child", pattern=r"^[A-Za-z0-9_-]{1,40}$", description="A short name for it.")


class SpawnAgent(Tool[SpawnAgentArguments]):
    """Runs a child with the parent's model and tools, on what is left of the parent's budget."""

    name: ClassVar[str] = "spawn_agent"
    description: ClassVar[str] = (
        "Hand a part of the goal to another agent that works on the same phone, and wait for what it says. "
        "Good for a part that takes many steps of which only the result matters. Observe afterwards."
    )
    arguments: ClassVar[type[Arguments]] = SpawnAgentArguments
    #: What the child does is approved call by call.
    is_read_only: ClassVar[bool] = True

    def __init__(self, *, system_prompt: SystemPrompt | None = None, depth: int = MAX_DEPTH) -> None:
        """`system_prompt` is that of the children; `depth` is how many levels of them there may be below the agent."""
        self._system_prompt = system_prompt or SystemPrompt()
        self._depth = depth

    async def run(self, arguments: SpawnAgentArguments, request: ToolRequest) -> ToolOutcome:
        parent = request.agent
        asked = SubagentRequest(
            goal=arguments.goal,
            mode=arguments.mode,
            name=arguments.name,
            signal=request.signal,
            limits=request.budget.left,
        )

        async def run(asked: SubagentRequest) -> SubagentResult:
            return await run_child(
                parent,
                asked,
                tools=self._tools_of_child(parent.tools.values()),
                system_prompt=self._system_prompt,
                budget=request.budget,
            )

        result = await parent.hooks.subagent.run(parent, request.place, asked, request.signal, run)
        return result.as_outcome()

    def _tools_of_child(self, tools: Iterable[AnyTool]) -> list[AnyTool]:
        """The parent's: one phone has one set of tools, which know what was observed last."""
        others = [tool for tool in tools if not isinstance(tool, SpawnAgent)]
        if self._depth <= 1:
            return others
        return [*others, SpawnAgent(system_prompt=self._system_prompt, depth=self._depth - 1)]
