"""One session of the protocol: an agent of its own, and what goes back and forth."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from acp import PromptResponse
from acp.interfaces import Client

from workers.agent.acp.device_turns import DeviceTurns
from workers.agent.acp.endings import last_words, response_to
from workers.agent.acp.permissions import Permissions
from workers.agent.acp.prompts import invalid_params
from workers.agent.acp.updates import Updates
from workers.agent.agent import Agent, Disposed
from workers.agent.cancellation import USER, CancelSignal
from workers.agent.hooks import Hooks, Next
from workers.agent.place import Place

#: Makes the agent of one conversation, with these hooks.
NewAgent = Callable[[Hooks], Agent]

#: A client that has closed its end may still read what is left for it, but nobody waits long for one that does not.
_LAST_UPDATES_SECONDS = 1.0


class Conversation:
    def __init__(
        self, client: Client, new_agent: NewAgent, *, device_turns: DeviceTurns, asks_permission: bool
    ) -> None:
        hooks = Hooks()
        self._agent = new_agent(hooks)
        self.session_id = self._agent.session.session_id
        self._updates = Updates(client, self._agent, session_id=self.session_id)
        self._device_turns = device_turns
        self._has_device = False
        hooks.prompt_submission.add(self._take_device)
        hooks.turn_end.add(self._give_device_back)
        if asks_permission:
            hooks.approval.add(Permissions(client, self._updates, session_id=self.session_id).ask)

    async def prompt(self, text: str) -> PromptResponse:
        """Runs a turn. Returns when it has ended and every update of it was written.

        Raises:
            RequestError: the turn failed.
        """
        try:
            prompt = self._agent.prompt(text)
        except Disposed:
            raise invalid_params(f"session {self.session_id} has ended") from None
        outcome = await prompt.outcome()
        words = last_words(outcome)
        if words is not None:
            self._updates.say(words)
        await self._updates.written()
        return response_to(outcome)

    def cancel(self) -> None:
        self._agent.cancel(USER)

    async def close(self) -> None:
        """Returns when nothing of the agent runs any more."""
        await self._agent.dispose()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_UPDATES_SECONDS):
                await self._updates.written()
        await self._updates.close()

    async def _take_device(
        self, _agent: Agent, _place: Place, text: str, signal: CancelSignal, after: Next[str, str]
    ) -> str:
        if self._device_turns.is_taken:
            self._updates.say("(Another session is at work on this device; this one waits for it.)\n\n")
        await self._device_turns.take(signal)
        self._has_device = True
        return await after(text)

    async def _give_device_back(self, _agent: Agent, _place: Place, _signal: CancelSignal) -> None:
        if self._has_device:
            self._has_device = False
            self._device_turns.give_back()
