"""The methods of the protocol that a client calls."""

import asyncio
from importlib.metadata import version
from typing import Any, cast

import acp
import structlog
from acp import InitializeResponse, NewSessionResponse, PromptResponse
from acp.core import AgentSideConnection
from acp.interfaces import Agent as ProtocolAgent, Client
from acp.schema import AgentCapabilities, Implementation, PromptCapabilities

from workers.agent.acp.conversation import Conversation, NewAgent
from workers.agent.acp.device_turns import DeviceTurns
from workers.agent.acp.prompts import invalid_params, text_of
from workers.agent.acp.stdio import MessageStream

log = structlog.get_logger()


async def serve(stream: MessageStream, new_agent: NewAgent, *, asks_permission: bool = True) -> None:
    """Serves one client until it closes the stream. Returns when every agent has settled.

    Cancelling ends it in the same order: nothing is cut off.
    """
    server = AcpServer(new_agent, asks_permission=asks_permission)
    connection = AgentSideConnection(cast("ProtocolAgent", server), stream, listening=False)
    try:
        await connection.listen()
    finally:
        await server.close()
        await connection.close()


class AcpServer:
    """What is not here is not offered, and answered with `method not found`."""

    def __init__(self, new_agent: NewAgent, *, asks_permission: bool) -> None:
        self._new_agent = new_agent
        self._asks_permission = asks_permission
        self._client: Client | None = None
        self._conversations: dict[str, Conversation] = {}
        self._device_turns = DeviceTurns()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        if protocol_version != acp.PROTOCOL_VERSION:
            log.warning("acp.other_version", asked=protocol_version, spoken=acp.PROTOCOL_VERSION)
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(load_session=False, prompt_capabilities=PromptCapabilities()),
            agent_info=Implementation(name="corral", title="Corral", version=version("corral")),
            auth_methods=[],
        )

    async def new_session(self, mcp_servers: list[Any] | None = None, **_: Any) -> NewSessionResponse:
        if mcp_servers:
            # Editors pass those that their user has set up for all agents; refusing would shut them out.
            log.warning("acp.mcp_servers_ignored", count=len(mcp_servers))
        assert self._client is not None  # noqa: S101  a request comes over a connection
        conversation = Conversation(
            self._client, self._new_agent, device_turns=self._device_turns, asks_permission=self._asks_permission
        )
        self._conversations[conversation.session_id] = conversation
        return NewSessionResponse(session_id=conversation.session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        conversation = self._conversations.get(session_id)
        if conversation is None:
            raise invalid_params(f"there is no session {session_id[:100]!r}; session/new makes one")
        return await conversation.prompt(text_of(prompt))

    async def cancel(self, session_id: str, **_: Any) -> None:
        conversation = self._conversations.get(session_id)
        if conversation is None:
            log.warning("acp.cancel_of_unknown_session", session_id=session_id[:100])
            return
        conversation.cancel()

    async def close(self) -> None:
        """Returns when nothing of any agent runs any more."""
        await asyncio.gather(*(conversation.close() for conversation in self._conversations.values()))
