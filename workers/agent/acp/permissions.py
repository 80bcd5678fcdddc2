"""The user's permission for what changes something: asked for in the client, under the turn's signal."""

import structlog
from acp import RequestError, RequestPermissionResponse
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from workers.agent.acp.interruptible import until_aborted
from workers.agent.acp.tool_calls import kind_of, title_of, tool_call_id
from workers.agent.acp.updates import Updates
from workers.agent.agent import Agent
from workers.agent.cancellation import CancelSignal
from workers.agent.hooks import Approval, Next
from workers.agent.messages import ToolCall
from workers.agent.place import Place

log = structlog.get_logger()

_ALLOW, _ALWAYS, _REJECT = "allow", "allow-always", "reject"


class Permissions:
    """A listener of the approval hook. What the user allows for good is remembered for this conversation."""

    def __init__(self, client: Client, updates: Updates, *, session_id: str) -> None:
        self._client = client
        self._updates = updates
        self._session_id = session_id
        self._allowed_tools: set[str] = set()

    async def ask(
        self, agent: Agent, place: Place, call: ToolCall, signal: CancelSignal, _after: Next[ToolCall, Approval]
    ) -> Approval:
        """Raises `TurnInterrupted`: the turn ended before there was an answer. Nobody waits for one any more."""
        if call.tool in self._allowed_tools:
            return Approval(is_granted=True)
        # A client should answer `cancelled` at a cancel. Whether it does or not, the question ends here.
        return await until_aborted(self._ask_client(agent, place, call), signal, name=f"permission {call.call_id}")

    async def _ask_client(self, agent: Agent, place: Place, call: ToolCall) -> Approval:
        # The client has heard of the call before it is asked about it.
        await self._updates.written()
        try:
            response = await self._client.request_permission(
                session_id=self._session_id, tool_call=self._described(agent, place, call), options=_options(call.tool)
            )
        except (RequestError, OSError, ValueError) as trouble:
            log.warning("acp.permission_not_asked", session_id=self._session_id, trouble=str(trouble))
            return Approval(is_granted=False, reason="the user could not be asked")
        return self._judged(response, call)

    def _described(self, agent: Agent, place: Place, call: ToolCall) -> ToolCallUpdate:
        identifier, title = tool_call_id(place.turn, place.step, call.call_id), title_of(call)
        if agent.session.session_id != self._session_id:
            # A subagent's: its turns are counted on their own, and its calls were not told.
            identifier, title = f"{agent.session.session_id}.{identifier}", f"{agent.name}: {title}"
        return ToolCallUpdate(
            tool_call_id=identifier,
            title=title,
            kind=kind_of(agent, call.tool),
            status="pending",
            raw_input=call.arguments,
        )

    def _judged(self, response: RequestPermissionResponse, call: ToolCall) -> Approval:
        if not isinstance(response.outcome, AllowedOutcome):
            return Approval(is_granted=False, reason="the user gave no answer")
        match response.outcome.option_id:
            case "allow":
                return Approval(is_granted=True)
            case "allow-always":
                self._allowed_tools.add(call.tool)
                return Approval(is_granted=True)
            case "reject":
                return Approval(is_granted=False, reason="the user refused it")
            case other:
                log.warning("acp.unknown_permission_option", session_id=self._session_id, option_id=other)
                return Approval(is_granted=False, reason="the user's answer was none of those offered")


def _options(tool: str) -> list[PermissionOption]:
    return [
        PermissionOption(option_id=_ALLOW, name="Allow", kind="allow_once"),
        PermissionOption(option_id=_ALWAYS, name=f"Always allow {tool} in this session", kind="allow_always"),
        PermissionOption(option_id=_REJECT, name="Refuse", kind="reject_once"),
    ]
