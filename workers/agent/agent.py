"""The agent: a queue of prompts, one driver that makes turns of them, and the verbs that stop it.

    prompt ──► queue ──► driver: holder installed ─► status `running` ─► turn … log on disk ─► holder cleared ─► next
                 │                    ▲
    cancel ──────┴── drops ───────────┴── aborts the active holder; what is prompted afterwards runs
    dispose ── the same, for good

All of it belongs to one event loop. A prompt that is dropped before its turn began is marked so, without a cause; a
cancel never waits for prompts that come later.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

import structlog

from workers.agent.budget import Limits
from workers.agent.cancellation import DISPOSED, USER, TurnCancellation, normalized_cause
from workers.agent.hooks import Hooks
from workers.agent.identity import run_as
from workers.agent.listeners import Listeners
from workers.agent.model.interface import AgentModel, AnswerDelta
from workers.agent.outcome import TurnOutcome
from workers.agent.prompt_queue import Prompt, PromptQueue
from workers.agent.session.events import SessionEvent
from workers.agent.session.session import EventT, LogUnwritable, Session
from workers.agent.system_prompt import SystemPrompt
from workers.agent.tools.tool import AnyTool
from workers.agent.turn import Turn

log = structlog.get_logger()

AgentStatus = Literal["idle", "running", "disposed"]
AgentEvent = SessionEvent | AnswerDelta


class Disposed(RuntimeError):
    """This agent was disposed of; make another one."""


class WaitsForItself(RuntimeError):
    """A turn cannot wait for the end of its own agent's work: it would wait for itself."""


class Agent:
    """Pursues what it is prompted to, one turn after the other.

    Whoever holds the agent may prompt, steer, cancel and dispose of it. What runs inside a turn gets the turn's signal
    as an argument, and only that.
    """

    def __init__(
        self,
        model: AgentModel,
        *,
        tools: Sequence[AnyTool] = (),
        system_prompt: SystemPrompt | None = None,
        session: Session | None = None,
        hooks: Hooks | None = None,
        limits: Limits | None = None,
        name: str = "agent",
    ) -> None:
        """`limits` are those of each turn. The session is closed with the agent."""
        self.name = name
        self.model = model
        self.tools = {tool.name: tool for tool in tools}
        self.system_prompt = system_prompt or SystemPrompt()
        self.session = session or Session()
        self.hooks = hooks or Hooks()
        self.limits = limits or Limits()
        self.queue = PromptQueue()
        self.turn: Turn | None = None
        self._status: AgentStatus = "idle"
        self._cancellation: TurnCancellation | None = None
        self._driver: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._is_disposed = False
        self._status_listeners = Listeners[AgentStatus](name)
        self._event_listeners = Listeners[AgentEvent](name)

    @property
    def status(self) -> AgentStatus:
        return self._status

    @property
    def is_disposed(self) -> bool:
        """Disposal was asked for. Its work may still be settling: `status` says when it has."""
        return self._is_disposed

    def on_status(self, listener: Callable[[AgentStatus], None]) -> None:
        self._status_listeners.add(listener)

    def on_event(self, listener: Callable[[AgentEvent], None]) -> None:
        """Tells the listener what is recorded and, unless the session is redacted, the pieces of answers as they come.

        It must not block.
        """
        self._event_listeners.add(listener)

    def prompt(self, text: str) -> Prompt:
        """Queues a prompt; its turn begins when those before it have ended.

        Raises:
            Disposed: nothing runs here any more.
        """
        if self._is_disposed:
            raise Disposed(f"agent {self.name} was disposed of")
        prompt = self.queue.add(text)
        self._settled.clear()
        if self._driver is None:
            self._driver = asyncio.create_task(self._drive(), name=f"agent {self.name}")
        return prompt

    def steer(self, text: str) -> None:
        """Has the running turn read `text` before its next step; without a turn, this is a prompt.

        What a turn did not come to read before its end begins a turn of its own, unless the turn was cancelled.

        Raises:
            Disposed: nothing runs here any more.
        """
        if self.turn is not None and self.turn.is_open and not self.turn.signal.is_aborted:
            self.queue.steer(text)
        else:
            self.prompt(text)

    def cancel(self, cause: object = USER) -> None:
        """Interrupts the running turn, and drops what is queued at this moment. Later prompts run.

        The first cause wins. The turn has ended when its prompt has an outcome; `when_idle` waits for all.

        Raises:
            InvalidCancelCause: `cause` is not exactly one of ours; nothing was cancelled.
        """
        cause = normalized_cause(cause)
        # Dropped first: what a listener of the signal prompts is a replacement, and stays.
        self.queue.drop_all()
        if self._cancellation is not None:
            self._cancellation.abort(cause)

    async def when_idle(self) -> None:
        """Returns when no turn runs, nothing is queued, and nothing that a turn started runs any more.

        Raises:
            WaitsForItself: asked from inside of this agent's turn.
        """
        self._refuse_to_wait_for_itself()
        while not self._settled.is_set():
            await self._settled.wait()

    async def dispose(self) -> None:
        """Interrupts the running turn for good, and returns when all has settled and the log is closed.

        Raises:
            WaitsForItself: asked from inside of this agent's turn. The disposal goes on; only the wait is refused.
        """
        self._is_disposed = True
        self.queue.drop_all()
        if self._cancellation is not None:
            self._cancellation.abort(DISPOSED)
        if self._driver is None:
            self._come_to_rest()
        await self.when_idle()

    def tell(self, event: AgentEvent) -> None:
        """For the turn: tells the listeners what is not recorded."""
        self._event_listeners.tell(event)

    def record(self, event: EventT) -> EventT:
        """For the turn: appends to the session, and returns the event as it was recorded."""
        recorded = self.session.record(event)
        self.tell(recorded)
        return recorded

    def _refuse_to_wait_for_itself(self) -> None:
        if self._driver is not None and asyncio.current_task() is self._driver:
            raise WaitsForItself(f"agent {self.name} cannot wait for itself from inside of its turn")

    async def _drive(self) -> None:
        run_as(self)
        try:
            while self.queue.has_prompts:
                await self._drive_prospective_turn()
        finally:
            self._driver = None
            self.queue.drop_all()
            self._come_to_rest()

    def _come_to_rest(self) -> None:
        if self._is_disposed:
            self.session.close()
        self._settled.set()
        self._set_status("disposed" if self._is_disposed else "idle")

    async def _drive_prospective_turn(self) -> None:
        self._cancellation = cancellation = TurnCancellation()
        try:
            self._set_status("running")
            if cancellation.signal.is_aborted:
                # A listener of `running` cancelled what was queued. What it prompted instead gets a fresh holder.
                return
            prompt = self.queue.take()
            outcome = await self._take_turn(prompt, cancellation)
        finally:
            self._cancellation = None
        self.queue.give_unread_steering_a_turn()
        prompt.settle(outcome)

    async def _take_turn(self, prompt: Prompt, cancellation: TurnCancellation) -> TurnOutcome:
        self.turn = Turn(self, prompt.text, cancellation.signal)
        try:
            return await self.turn.run()
        except LogUnwritable as trouble:
            log.exception("agent.log_unwritable", agent=self.name)
            return TurnOutcome("failed", code=trouble.code, message=str(trouble))
        except BaseException:
            # Only the end of the event loop comes here: the turn itself ends by an outcome.
            prompt.settle(TurnOutcome("disposed"))
            raise
        finally:
            self.turn = None

    def _set_status(self, status: AgentStatus) -> None:
        if status == self._status:
            return
        self._status = status
        self._status_listeners.tell(status)
