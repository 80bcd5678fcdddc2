"""`ask_agent`: an agent in another process, over the Agent Client Protocol.

    our signal ─► session/cancel ─► the agent's last answer (`cancelled`) ─► its process is ended
                       └── no answer within CANCEL_SECONDS ───────────────────────┘

Nothing is abandoned here either: what waits for the agent waits until it has answered or its process has ended, and a
process, unlike what runs in our own, may be ended by force.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import acp
from acp.core import ClientSideConnection
from acp.schema import ClientCapabilities, Implementation, PromptResponse
from pydantic import Field

from workers.agent.agent import Agent
from workers.agent.budget import Budget
from workers.agent.hooks import Approval
from workers.agent.messages import ToolCall
from workers.agent.place import Place
from workers.agent.subagents.remote_agent import RemoteAgent
from workers.agent.subagents.remote_client import RemoteClient
from workers.agent.subagents.remote_process import CannotStart, agent_process, end_process
from workers.agent.subagents.request import SubagentRequest, SubagentResult
from workers.agent.tools.tool import Arguments, Tool, ToolOutcome, ToolRequest

#: What starts an agent may have to download it first.
START_SECONDS = 60.0
#: An agent that has not answered a cancel by then has no ear for it, and its process is ended.
CANCEL_SECONDS = 10.0

_UNFINISHED = {
    "max_tokens": "it ran out of tokens",
    "max_turn_requests": "it made as many requests to its model as it may",
    "refusal": "it refused",
    "cancelled": "it was cancelled, and not by us",
}


class AskAgentArguments(Arguments):
    goal: str = Field(min_length=1, description="What it is to do or to find out, in full sentences: it knows no more.")


class AskAgent(Tool[AskAgentArguments]):
    name: ClassVar[str] = "ask_agent"
    description: ClassVar[str] = (
        "Ask another agent, which has its own tools and cannot see or touch the phone, and wait for its answer."
    )
    arguments: ClassVar[type[Arguments]] = AskAgentArguments

    def __init__(self, remote: RemoteAgent, *, cancel_seconds: float = CANCEL_SECONDS) -> None:
        self._remote = remote
        self._cancel_seconds = cancel_seconds

    async def run(self, arguments: AskAgentArguments, request: ToolRequest) -> ToolOutcome:
        agent = request.agent
        asked = SubagentRequest(
            goal=arguments.goal,
            mode="remote",
            name=self._remote.name,
            signal=request.signal,
            limits=request.budget.left,
        )

        async def run(asked: SubagentRequest) -> SubagentResult:
            conversation = RemoteConversation(self._remote, asked, cancel_seconds=self._cancel_seconds)
            return await conversation.run(_Approvals(agent, request.place, asked), request.budget)

        result = await agent.hooks.subagent.run(agent, request.place, asked, request.signal, run)
        return result.as_outcome()


class RemoteConversation:
    """One process, one session, one prompt."""

    def __init__(self, remote: RemoteAgent, request: SubagentRequest, *, cancel_seconds: float) -> None:
        self._remote = remote
        self._request = request
        self._cancel_seconds = cancel_seconds
        self._session_id: str | None = None
        self._is_out_of_time = False

    async def run(self, approve: "_Approvals", budget: Budget) -> SubagentResult:
        client = RemoteClient(approve)
        try:
            async with agent_process(self._remote.command, env=self._remote.env, cwd=self._remote.folder) as process:
                response = await self._converse(client, process)
        except CannotStart as trouble:
            return SubagentResult.failed(f"Agent {self._remote.name}: {trouble}.")
        except TimeoutError:
            return self._unanswered(f"did not begin to speak within {START_SECONDS:g} s", client.said)
        except (acp.RequestError, ValueError) as trouble:
            return self._unanswered(f"answered with an error: {trouble}", client.said)
        except OSError:
            return self._unanswered("ended before it had answered", client.said)
        if response.usage is not None:
            budget.spend(tokens=response.usage.total_tokens)
        return self._result(response, client.said)

    async def _converse(self, client: RemoteClient, process: asyncio.subprocess.Process) -> PromptResponse:
        connection = ClientSideConnection(client, process.stdin, process.stdout)  # pyright: ignore[reportArgumentType]  it implements what we offer
        watch = asyncio.create_task(self._watch(connection, process), name=f"watch {self._remote.name}")
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._begin(connection)
            return await self._prompt(connection)
        finally:
            watch.cancel()
            await asyncio.wait({watch})
            # Before the connection: what it still writes to a process that does not read never ends otherwise.
            await end_process(process)
            with suppress(OSError):
                await connection.close()

    async def _begin(self, connection: ClientSideConnection) -> None:
        await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="corral", version="1"),
        )
        session = await connection.new_session(cwd=str(self._remote.folder.absolute()), mcp_servers=[])
        self._request.signal.check()
        self._session_id = session.session_id

    async def _prompt(self, connection: ClientSideConnection) -> PromptResponse:
        assert self._session_id is not None  # noqa: S101  `_begin` has set it
        return await connection.prompt(session_id=self._session_id, prompt=[acp.text_block(self._request.goal)])

    async def _watch(self, connection: ClientSideConnection, process: asyncio.subprocess.Process) -> None:
        """Stops the agent when our turn is interrupted or its time is over; ends its process if that does not help."""
        try:
            async with asyncio.timeout(self._request.limits.wall_seconds):
                await self._request.signal.wait()
        except TimeoutError:
            self._is_out_of_time = True
        if self._session_id is not None:
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(self._cancel_seconds):
                    await connection.cancel(session_id=self._session_id)
                    await process.wait()
        # This makes whatever waits for it fail.
        await end_process(process)

    def _result(self, response: PromptResponse, said: str) -> SubagentResult:
        if response.stop_reason == "end_turn":
            return SubagentResult("done", f"Agent {self._remote.name} says: {said or 'nothing'}")
        return self._unanswered(f"ended without a result: {_UNFINISHED[response.stop_reason]}", said)

    def _unanswered(self, what: str, said: str) -> SubagentResult:
        words = f" Its last words: {said}" if said else ""
        if self._request.signal.is_aborted:
            return SubagentResult.aborted(f"Agent {self._remote.name} was cancelled.{words}")
        if self._is_out_of_time:
            what = "was stopped: the time of this run was over"
        return SubagentResult.failed(f"Agent {self._remote.name} {what}.{words}")


@dataclass(frozen=True, slots=True)
class _Approvals:
    """What the remote agent asks to be allowed goes to our approval hook; what that leaves open is refused."""

    agent: Agent
    place: Place
    request: SubagentRequest

    async def __call__(self, call: ToolCall) -> bool:
        async def refused(_call: ToolCall) -> Approval:
            return Approval(is_granted=False)

        asked = call.model_copy(update={"tool": f"{self.request.name}: {call.tool}"})
        approval = await self.agent.hooks.approval.run(self.agent, self.place, asked, self.request.signal, refused)
        self.request.signal.check()
        return approval.is_granted
