"""An editor: the protocol library's own client, which keeps what it hears and answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import acp
from acp._transport import memory_transport_pair
from acp.schema import AllowedOutcome, DeniedOutcome

from tests.workers.agent.subagents.scripts import FinishTool, Moves, TapTool
from workers.agent.acp.server import serve
from workers.agent.agent import Agent


def chosen(option_id):
    return acp.RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))


DENIED = acp.RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


class Editor:
    """`updates` are (session id, what it was) in the order of their coming; `answer` decides on permissions."""

    def __init__(self) -> None:
        self.updates = []
        self.asked = []
        self.offered: dict[str, str] = {}
        self.something_came = asyncio.Event()
        self.answer: Callable[[], Awaitable[acp.RequestPermissionResponse]] = _allow

    async def session_update(self, session_id, update, **_):
        self.updates.append((session_id, _told(update)))
        self.something_came.set()

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked.append(tool_call)
        self.offered = {option.option_id: option.kind for option in options}
        self.updates.append((session_id, ("asked", tool_call.tool_call_id)))
        self.something_came.set()
        return await self.answer()

    def told(self, session_id=None):
        return [what for session, what in self.updates if session_id in (None, session)]

    def said(self, session_id=None):
        return "".join(words for kind, words in self.told(session_id) if kind == "says")

    async def until(self, condition):
        async with asyncio.timeout(20):
            while not condition():
                self.something_came.clear()
                await self.something_came.wait()


async def _allow():
    return chosen("allow")


def _told(update):
    match update.session_update:
        case "agent_message_chunk":
            return "says", update.content.text
        case "agent_thought_chunk":
            return "thinks", update.content.text
        case "tool_call":
            return update.status, update.title
        case "tool_call_update" if update.content:
            return update.status, update.content[0].content.text
        case _:
            return update.status, update.tool_call_id


class Served:
    """A server in this process, and the connection of one editor to it."""

    def __init__(self, editor, connection, transport, serving, agents) -> None:
        self.editor = editor
        self.connection = connection
        self.transport = transport
        self.serving = serving
        self.agents: list[Agent] = agents

    async def session(self):
        return (await self.connection.new_session(cwd="/", mcp_servers=[])).session_id

    def prompt(self, session_id, text="Do it."):
        prompting = self.connection.prompt(session_id=session_id, prompt=[acp.text_block(text)])
        return asyncio.create_task(prompting)


@asynccontextmanager
async def served(*models: Moves, asks_permission=True, tap=None, tools=(), **keywords) -> AsyncIterator[Served]:
    """Each session gets the next of the models."""
    waiting, agents = list(models), []

    def new_agent(hooks):
        made = (tap or TapTool(), FinishTool(), *tools)
        agent = Agent(waiting.pop(0), tools=made, hooks=hooks, **keywords)
        agents.append(agent)
        return agent

    ours, theirs = memory_transport_pair()
    serving = asyncio.create_task(serve(ours, new_agent, asks_permission=asks_permission))
    editor = Editor()
    connection = acp.connect_to_agent(editor, theirs)
    try:
        async with asyncio.timeout(30):
            yield Served(editor, connection, theirs, serving, agents)
    finally:
        await connection.close()
        await serving
    assert [agent.status for agent in agents] == ["disposed"] * len(agents)
