"""What happens in a conversation, told to the client in the order in which it happened."""

import asyncio
from contextlib import suppress
from typing import TypeAlias

import structlog
from acp import update_agent_message_text, update_agent_thought_text
from acp.interfaces import Client
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ToolCallProgress, ToolCallStart

from workers.agent.acp.tool_calls import ended, in_progress, pending, tool_call_id
from workers.agent.agent import Agent, AgentEvent
from workers.agent.messages import AssistantMessage, TextPart, ThinkingPart, ToolMessage
from workers.agent.model.interface import AnswerDelta
from workers.agent.session.events import MessageAdded, StepStart, ToolStart

log = structlog.get_logger()

Update: TypeAlias = AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress

_BEGINS_AGAIN = "\n\n(The answer broke off; what follows is another one in its place.)\n\n"


class Updates:
    """A queue and its one writer. `written` is what makes the end of a turn come after all that was said in it."""

    def __init__(self, client: Client, agent: Agent, *, session_id: str) -> None:
        self._client = client
        self._agent = agent
        self._session_id = session_id
        self._queue: asyncio.Queue[Update] = asyncio.Queue()
        self._writer = asyncio.create_task(self._write(), name=f"updates {session_id}")
        self._has_streamed = False
        agent.on_event(self._note)

    def say(self, text: str) -> None:
        self._queue.put_nowait(update_agent_message_text(text))

    async def written(self) -> None:
        """Returns when all that was noted so far has gone to the client, or the client has gone."""
        await self._queue.join()

    async def close(self) -> None:
        self._writer.cancel()
        with suppress(asyncio.CancelledError):
            await self._writer

    async def _write(self) -> None:
        while True:
            update = await self._queue.get()
            try:
                await self._client.session_update(session_id=self._session_id, update=update)
            except OSError as trouble:
                # Nobody reads any more. The end of its input ends the conversation.
                log.debug("acp.update_not_sent", session_id=self._session_id, trouble=str(trouble))
            except Exception:
                log.exception("acp.update_failed", session_id=self._session_id)
            finally:
                self._queue.task_done()

    def _note(self, event: AgentEvent) -> None:
        match event:
            case AnswerDelta():
                self._note_delta(event)
            case StepStart():
                self._has_streamed = False
            case ToolStart():
                self._queue.put_nowait(in_progress(_identifier(event, event.call_id)))
            case MessageAdded(message=AssistantMessage() as message):
                self._note_answer(event, message)
            case MessageAdded(message=ToolMessage() as message):
                self._queue.put_nowait(ended(message, _identifier(event, message.call_id)))
            case _:
                pass

    def _note_delta(self, delta: AnswerDelta) -> None:
        if delta.is_restart and self._has_streamed:
            # What a client has shown cannot be taken back.
            self.say(_BEGINS_AGAIN)
        if delta.text:
            self._has_streamed = True
            self._say_part(delta.kind, delta.text)

    def _note_answer(self, event: MessageAdded, message: AssistantMessage) -> None:
        if not self._has_streamed:
            for part in message.parts:
                if isinstance(part, TextPart | ThinkingPart) and part.text:
                    self._say_part(part.kind, part.text)
        for call in message.calls:
            self._queue.put_nowait(pending(self._agent, call, _identifier(event, call.call_id)))

    def _say_part(self, kind: str, text: str) -> None:
        chunk = update_agent_thought_text(text) if kind == "thinking" else update_agent_message_text(text)
        self._queue.put_nowait(chunk)


def _identifier(event: MessageAdded | ToolStart, call_id: str) -> str:
    return tool_call_id(event.turn, event.step, call_id)
