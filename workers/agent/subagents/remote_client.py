"""What a remote agent may ask of us, and what we hear of it: the client's side of the protocol."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from acp import RequestError, RequestPermissionResponse
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    TextContentBlock,
    ToolCallUpdate,
)

from workers.agent.cancellation import TurnInterrupted
from workers.agent.messages import ToolCall

#: Its last words, for a model that pays for each: what an agent has to say at the end is a page.
MAX_SAID_CHARACTERS = 20_000
#: Never `always`: what it may do is decided each time.
_ONCE = {True: "allow_once", False: "reject_once"}

Approve = Callable[[ToolCall], Awaitable[bool]]


class RemoteClient:
    """Collects what the agent says, and lets `approve` decide what it may do. It gets no files and no terminals."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve
        self._said = ""

    @property
    def said(self) -> str:
        return self._said.strip()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002  one session
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContentBlock):
            self._said = (self._said + update.content.text)[-MAX_SAID_CHARACTERS:]

    async def request_permission(
        self, options: list[PermissionOption], session_id: str, tool_call: ToolCallUpdate, **_: Any
    ) -> RequestPermissionResponse:
        del session_id  # there is one
        try:
            is_granted = await self._approve(_as_call(tool_call))
        except TurnInterrupted:
            # The protocol asks for this very answer to whatever is pending at a cancel.
            return _nothing_chosen()
        chosen = next((option for option in options if option.kind == _ONCE[is_granted]), None)
        if chosen is None:
            return _nothing_chosen()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def read_text_file(self, **_: Any) -> Any:
        raise _refused("fs/read_text_file")

    async def write_text_file(self, **_: Any) -> Any:
        raise _refused("fs/write_text_file")

    async def create_terminal(self, **_: Any) -> Any:
        raise _refused("terminal/create")

    async def terminal_output(self, **_: Any) -> Any:
        raise _refused("terminal/output")

    async def release_terminal(self, **_: Any) -> Any:
        raise _refused("terminal/release")

    async def wait_for_terminal_exit(self, **_: Any) -> Any:
        raise _refused("terminal/wait_for_exit")

    async def kill_terminal(self, **_: Any) -> Any:
        raise _refused("terminal/kill")


def _as_call(tool_call: ToolCallUpdate) -> ToolCall:
    raw = tool_call.raw_input
    arguments = dict(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else {"input": raw}
    return ToolCall(call_id=tool_call.tool_call_id, tool=tool_call.title or "unnamed", arguments=arguments)


def _nothing_chosen() -> RequestPermissionResponse:
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _refused(method: str) -> RequestError:
    return RequestError(-32601, f"{method} is refused: agents that are asked get no files and no terminals here")
