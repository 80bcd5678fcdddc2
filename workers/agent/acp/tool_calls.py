"""Tool calls in the protocol's words."""

import json

from acp import text_block, tool_content
from acp.schema import ToolCallProgress, ToolCallStart, ToolKind

from workers.agent.agent import Agent
from workers.agent.messages import ToolCall, ToolMessage

#: A title is one line in an editor.
_TITLE_CHARACTERS = 100


def tool_call_id(turn: int, step: int, call_id: str) -> str:
    """Unique in a session: some providers begin to count their calls anew with each answer."""
    return f"{turn}.{step}.{call_id}"


def title_of(call: ToolCall) -> str:
    """The tool with its arguments, as far as one line goes."""
    arguments = " ".join(f"{name}={_short(value)}" for name, value in call.arguments.items())
    title = f"{call.tool} {arguments}".strip()
    return title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…"


def kind_of(agent: Agent, tool: str) -> ToolKind:
    known = agent.tools.get(tool)
    if known is None:
        return "other"
    return "read" if known.is_read_only else "execute"


def pending(agent: Agent, call: ToolCall, identifier: str) -> ToolCallStart:
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=identifier,
        title=title_of(call),
        kind=kind_of(agent, call.tool),
        status="pending",
        raw_input=call.arguments,
    )


def in_progress(identifier: str) -> ToolCallProgress:
    return ToolCallProgress(session_update="tool_call_update", tool_call_id=identifier, status="in_progress")


def ended(message: ToolMessage, identifier: str) -> ToolCallProgress:
    """`completed` only where it is known that it was done."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=identifier,
        status="completed" if message.status == "done" else "failed",
        content=[tool_content(text_block(message.text))],
        raw_output={"status": message.status, "code": message.code},
    )


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
