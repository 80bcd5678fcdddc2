"""What an agent is still to be told: prompts, each for a turn of its own, and steering for the turn that runs."""

import asyncio
from collections import deque

from workers.agent.outcome import TurnOutcome


class Prompt:
    """One prompt that was handed in, and what became of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._outcome: asyncio.Future[TurnOutcome] = asyncio.get_running_loop().create_future()

    async def outcome(self) -> TurnOutcome:
        """How its turn ended, once the log of it is on disk; `dropped` if it never began."""
        # Shielded: whoever stops waiting does not take the outcome from the others.
        return await asyncio.shield(self._outcome)

    def settle(self, outcome: TurnOutcome) -> None:
        """For the agent, once for each prompt."""
        self._outcome.set_result(outcome)


class PromptQueue:
    """Belongs to one agent. What waits in it is dropped by a cancel; what comes afterwards is not."""

    def __init__(self) -> None:
        self._prompts: deque[Prompt] = deque()
        self._steering: list[str] = []

    @property
    def has_prompts(self) -> bool:
        return bool(self._prompts)

    @property
    def has_steering(self) -> bool:
        return bool(self._steering)

    def add(self, text: str) -> Prompt:
        """Puts a prompt behind all others."""
        prompt = Prompt(text)
        self._prompts.append(prompt)
        return prompt

    def take(self) -> Prompt:
        """The next prompt, whose turn begins."""
        return self._prompts.popleft()

    def steer(self, text: str) -> None:
        """Has the running turn read `text` before its next step."""
        self._steering.append(text)

    def take_steering(self) -> list[str]:
        """The texts to read now, each handed out once."""
        texts, self._steering = self._steering, []
        return texts

    def give_unread_steering_a_turn(self) -> None:
        """After a turn that ended before it read all: the first text begins the next turn, which reads the rest."""
        if self._steering:
            self._prompts.appendleft(Prompt(self._steering.pop(0)))

    def drop_all(self) -> None:
        """Drops what waits at this moment. That it was dropped is all that is kept of it: no cause."""
        dropped, self._prompts = self._prompts, deque[Prompt]()
        self._steering.clear()
        for prompt in dropped:
            prompt.settle(TurnOutcome("dropped"))
