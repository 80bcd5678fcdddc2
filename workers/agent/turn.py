"""One turn: from a prompt to its end in the log, under one signal.

Before and after each thing that is awaited the signal is asked. What was started is awaited, whatever the signal says;
what it brought is recorded before the turn ends because of it.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

import structlog

from workers.agent.budget import Budget, BudgetSpent
from workers.agent.cancellation import CancelSignal, TurnInterrupted, agent_interrupt_reason_of
from workers.agent.hooks import Continuation, StepResult, TurnStop, unchanged
from workers.agent.messages import UserMessage
from workers.agent.model.interface import ModelFailed
from workers.agent.outcome import TurnOutcome
from workers.agent.place import Place
from workers.agent.repeats import Repeats, Stuck
from workers.agent.session import events
from workers.agent.session.session import LogUnwritable
from workers.agent.step import Step
from workers.agent.system_prompt import AssembleContext
from workers.agent.tool_calls import DeviceLost

if TYPE_CHECKING:
    from workers.agent.agent import Agent

log = structlog.get_logger()

T = TypeVar("T")

#: The code of a turn that failed by an error that nobody has named.
DEFECT = "defect"

_NAMED = (BudgetSpent, Stuck, ModelFailed, DeviceLost, LogUnwritable)


class Turn:
    """Runs once. Made by the agent's driver, which holds the right to interrupt it."""

    def __init__(self, agent: "Agent", prompt: str, signal: CancelSignal) -> None:
        self.agent = agent
        self.number = agent.session.turns + 1
        self.signal = signal
        self.budget = Budget(agent.limits)
        self.repeats = Repeats()
        #: Steering still reaches this turn.
        self.is_open = True
        self._prompt = prompt
        self._last: StepResult | None = None

    async def run(self) -> TurnOutcome:
        """Runs to the turn's end and returns when the log of it is on disk."""
        self.agent.record(events.TurnStart(turn=self.number))
        outcome, durable = await self._ended()
        self.is_open = False
        self.agent.record(events.TurnEnd(turn=self.number, end=durable))
        await self.agent.hooks.turn_end.run_to_the_end(self.agent, Place(self.number), self.signal)
        await self.agent.session.flush()
        return outcome

    async def _ended(self) -> tuple[TurnOutcome, events.DurableEnd]:
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001  the end of the turn says what it was; a defect is logged below
            return self._end_because_of(error)
        finish = self._last.finish if self._last else None
        durable = events.Completed(
            finish=finish and {"status": finish.status, "message": finish.message, "output": finish.output}
        )
        return TurnOutcome("completed", self._text, finish=finish), durable

    def _end_because_of(self, error: Exception) -> tuple[TurnOutcome, events.DurableEnd]:
        """The life of the agent decides first, then the signal, and only then the error: our stop makes calls fail."""
        reason = agent_interrupt_reason_of(self.signal)
        if self.agent.is_disposed:
            self._log_unless(error, TurnInterrupted, *_NAMED)
            return TurnOutcome("disposed", self._text, reason=reason), events.Aborted()
        if reason is not None:
            self._log_unless(error, TurnInterrupted, *_NAMED)
            return TurnOutcome("aborted", self._text, reason=reason), events.Aborted()
        self._log_unless(error, *_NAMED)
        message = self.agent.session.redacted(str(error))
        match error:
            case BudgetSpent(kind=budget):
                durable = events.BudgetExceeded(budget=budget, message=message)
                return TurnOutcome("budget_exceeded", self._text, message=message, budget=budget), durable
            case Stuck():
                durable = events.EndedStuck(message=message)
                return TurnOutcome("stuck", self._text, code="stuck", message=message), durable
            case ModelFailed() | DeviceLost() | LogUnwritable():
                code = str(error.code)
            case _:
                code, message = DEFECT, f"a defect of the agent: {type(error).__name__}"
        return TurnOutcome("failed", self._text, code=code, message=message), events.Failed(code=code, message=message)

    def _log_unless(self, error: Exception, *named: type[Exception]) -> None:
        """A defect is never swallowed, not even where the turn ends by something else."""
        if not isinstance(error, named):
            log.error("agent.turn_failed", agent=self.agent.name, turn=self.number, exc_info=error)

    @property
    def _text(self) -> str:
        return self.agent.session.redacted(self._last.message.text) if self._last else ""

    async def _work(self) -> None:
        agent, place, signal = self.agent, Place(self.number), self.signal
        prompt = await self.seam(agent.hooks.prompt_submission.run(agent, place, self._prompt, signal, unchanged))
        self.add_message(UserMessage(text=prompt))
        system = await self.seam(agent.system_prompt.assemble(AssembleContext(agent, signal)))
        # From the log, where it is redacted.
        system = agent.record(events.SystemAssembled(turn=self.number, text=system)).text
        prefix = await self.seam(agent.hooks.session_prefix.run(agent, place, (), signal, unchanged))
        if prefix:
            agent.record(events.PrefixSet(turn=self.number, messages=prefix))
        step = 0
        while True:
            step += 1
            self._last = last = await self._take_step(Step(self, Place(self.number, step), system))
            if not await self._goes_on(last, Place(self.number, step)):
                return

    async def _take_step(self, step: Step) -> StepResult:
        self.budget.check()
        self.budget.spend(steps=1)
        self.add_steering()
        try:
            return await step.run()
        except ModelFailed:
            # A model whose time ran out says so in its own words; the budget's are the ones that matter.
            self.budget.check_time()
            raise

    async def _goes_on(self, last: StepResult, place: Place) -> bool:
        agent, signal = self.agent, self.signal
        has_more = last.finish is None and (bool(last.message.calls) or agent.queue.has_steering)
        decision = await self.seam(
            agent.hooks.continuation.run(agent, place, Continuation(has_more, last), signal, unchanged)
        )
        if decision.goes_on:
            return True
        stop = await self.seam(agent.hooks.turn_stop.run(agent, place, TurnStop(last), signal, unchanged))
        if stop.go_on_with is not None:
            self.add_message(UserMessage(text=stop.go_on_with, source="loop"))
            return True
        return last.finish is None and agent.queue.has_steering

    async def seam(self, awaited: Awaitable[T]) -> T:
        """Awaits what `awaited` brings. Raises `TurnInterrupted` if the turn was interrupted meanwhile.

        The question before it is asked by each waterfall and by each section of the prompt.
        """
        result = await awaited
        self.signal.check()
        return result

    def add_message(self, message: UserMessage, *, step: int = 0) -> None:
        self.agent.record(events.MessageAdded(turn=self.number, step=step, message=message))

    def add_steering(self) -> None:
        for text in self.agent.queue.take_steering():
            self.add_message(UserMessage(text=text, source="steering"))
