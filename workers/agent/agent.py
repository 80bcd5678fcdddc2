"""The agent: a queue of prompts, one driver that makes turns of them, and the verbs that stop it.

    prompt ──► queue ──► driver: holder installed ─► status `running` ─► turn … log on disk ─► holder cleared ─► next
                 │                    ▲
    cancel ──────┴── drops ───────────┴── aborts the active holder; what is prompted afterwards runs
    dispose ── the same, for good

All of it belongs to one event loop. A prompt that is dropped before its turn began is marked so, without a cause; a
cancel never waits for prompts that come later.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

import structlog

from workers.agent.budget import Limits
from workers.agent.cancellation import DISPOSED, USER, TurnCancellation, normalized_cause
from workers.agent.hooks import Hooks
from workers.agent.identity import current_agent, run_as
from workers.agent.model.interface import AgentModel, AnswerDelta
from workers.agent.outcome import TurnOutcome
from workers.agent.prompt import SystemPrompt
from workers.agent.session.events import SessionEvent
from workers.agent.session.session import EventT, LogUnwritable, Session
from workers.agent.tools.tool import AnyTool
from workers.agent.turn import Turn

log = structlog.get_logger()

AgentStatus = Literal["idle", "running", "disposed"]
AgentEvent = SessionEvent | AnswerDelta


class Disposed(RuntimeError):
    """This agent was disposed of; make another one."""


class WaitsForItself(RuntimeError):
    """A turn cannot wait for the end of its own agent's work: it would wait for itself."""


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
        self.turn: Turn | None = None
        self._status: AgentStatus = "idle"
        self._queue: deque[Prompt] = deque()
        self._steering: list[str] = []
        self._cancellation: TurnCancellation | None = None
        self._driver: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._is_disposed = False
        self._status_listeners: list[Callable[[AgentStatus], None]] = []
        self._event_listeners: list[Callable[[AgentEvent], None]] = []

    @property
    def status(self) -> AgentStatus:
        return self._status

    @property
    def is_disposed(self) -> bool:
        """Disposal was asked for. Its work may still be settling: `status` says when it has."""
        return self._is_disposed

    def on_status(self, listener: Callable[[AgentStatus], None]) -> None:
        self._status_listeners.append(listener)

    def on_event(self, listener: Callable[[AgentEvent], None]) -> None:
        """Tells the listener what is recorded, and the pieces of answers while they stream. It must not block."""
        self._event_listeners.append(listener)

    def prompt(self, text: str) -> Prompt:
        """Queues a prompt; its turn begins when those before it have ended.

        Raises:
            Disposed: nothing runs here any more.
        """
        if self._is_disposed:
            raise Disposed(f"agent {self.name} was disposed of")
        prompt = Prompt(text)
        self._queue.append(prompt)
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
            self._steering.append(text)
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
        self._drop_pending()
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
        self._drop_pending()
        if self._cancellation is not None:
            self._cancellation.abort(DISPOSED)
        if self._driver is None:
            self._come_to_rest()
        await self.when_idle()

    def take_steering(self) -> list[str]:
        """For the turn: the texts to read now, each handed out once."""
        texts, self._steering = self._steering, []
        return texts

    @property
    def has_steering(self) -> bool:
        return bool(self._steering)

    def tell(self, event: AgentEvent) -> None:
        for listener in tuple(self._event_listeners):
            _call(listener, event)

    def record(self, event: EventT) -> EventT:
        """For the turn: appends to the session, and returns the event as it was recorded."""
        recorded = self.session.record(event)
        self.tell(recorded)
        return recorded

    def _drop_pending(self) -> None:
        dropped, self._queue = self._queue, deque[Prompt]()
        self._steering.clear()
        for prompt in dropped:
            prompt.settle(TurnOutcome("dropped"))

    def _refuse_to_wait_for_itself(self) -> None:
        if self._driver is not None and asyncio.current_task() is self._driver:
            raise WaitsForItself(f"agent {self.name} cannot wait for itself from inside of its turn")

    async def _drive(self) -> None:
        run_as(self)
        try:
            while self._queue:
                await self._drive_prospective_turn()
        finally:
            self._driver = None
            self._drop_pending()
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
            if cancellation.signal.is_aborted or not self._queue:
                # A listener of `running` cancelled what was queued. What it prompted instead gets a fresh holder.
                return
            prompt = self._queue.popleft()
            outcome = await self._take_turn(prompt, cancellation)
        finally:
            self._cancellation = None
        if self._steering:
            # The turn ended before it read this. It begins the next one, which reads the rest.
            self._queue.appendleft(Prompt(self._steering.pop(0)))
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
        for listener in tuple(self._status_listeners):
            _call(listener, status)


def _call(listener: Callable[..., None], value: object) -> None:
    try:
        listener(value)
    except Exception:
        # A listener only looks on; its defect is not the turn's.
        log.exception("agent.listener_failed", agent=getattr(current_agent(), "name", None))
