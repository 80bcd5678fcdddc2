"""Any model of pydantic-ai as the loop's `AgentModel`: streams, and asks again where that makes sense."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import structlog
from pydantic_ai.models import Model

from workers.agent.cancellation import CancelSignal, pause_unless_aborted
from workers.agent.messages import AnswerPart, AssistantMessage
from workers.agent.model.connections import Connections
from workers.agent.model.failures import Failure, shown
from workers.agent.model.interface import (
    Answer,
    AnswerDelta,
    ModelErrorCode,
    ModelFailed,
    ModelRequest,
    OnDelta,
    Usage,
)
from workers.agent.model.judgement import judged
from workers.agent.model.received import Received
from workers.agent.model.retries import DEFAULT_RETRIES, Retries
from workers.agent.model.stream import AnswerStream
from workers.clock import Clock, boot_seconds

log = structlog.get_logger()

#: No event for so long: models think in silence for a minute at times, and the connections of those that think
#: longer are as a rule dead.
IDLE_SECONDS = 120.0


async def _nothing() -> None:
    """Nothing is to be closed."""


@dataclass(frozen=True, slots=True)
class PydanticAIModel:
    """One model, by the name under which it was opened.

    `secrets` are cut out of every message. `says_when_finished`: the provider gives each whole answer a reason for its
    end, so that one without was broken off.
    """

    name: str
    model: Model
    takes_images: bool
    connections: Connections = field(default_factory=Connections)
    secrets: tuple[str, ...] = ()
    says_when_finished: bool = True
    idle_seconds: float = IDLE_SECONDS
    retries: Retries = DEFAULT_RETRIES
    clock: Clock = boot_seconds
    close: Callable[[], Awaitable[None]] = _nothing

    async def aclose(self) -> None:
        """Closes the connections. The model cannot be asked any more."""
        await self.close()

    async def generate(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        usage = Usage()
        attempt = 0
        while not signal.is_aborted:
            attempt += 1
            received = await self._ask(request, signal, on_delta)
            usage += received.usage
            answer = self._judged(received)
            if isinstance(answer, AssistantMessage):
                return Answer(answer, usage)
            if signal.is_aborted:
                return _interrupted(received.parts, usage)
            wait_seconds = self._wait_seconds(answer, attempt, request)
            if wait_seconds is None:
                raise self._failed(answer, attempt, usage)
            if received.has_sent_deltas:
                on_delta(AnswerDelta(is_restart=True))
            log.info("model.retry", model=self.name, code=answer.code, attempt=attempt, wait_seconds=wait_seconds)
            await pause_unless_aborted(wait_seconds, signal)
        return _interrupted((), usage)

    async def _ask(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Received:
        if request.deadline_at is not None and self.clock() >= request.deadline_at:
            return Received(cut="deadline")
        stream = AnswerStream(
            self.model,
            request,
            on_delta,
            connections=self.connections,
            idle_seconds=self.idle_seconds,
            clock=self.clock,
        )
        return await stream.read(signal)

    def _judged(self, received: Received) -> AssistantMessage | Failure:
        if isinstance(verdict := judged(received, says_when_finished=self.says_when_finished), AssistantMessage):
            return verdict
        if verdict.code == ModelErrorCode.UNPARSEABLE:
            log.warning("model.unparseable", model=self.name, exc_info=received.error)
        return replace(verdict, message=shown(verdict.message, secrets=self.secrets))

    def _wait_seconds(self, failure: Failure, attempt: int, request: ModelRequest) -> float | None:
        left = None if request.deadline_at is None else request.deadline_at - self.clock()
        return self.retries.wait_seconds(failure, attempt, seconds_left=left)

    def _failed(self, failure: Failure, attempt: int, usage: Usage) -> ModelFailed:
        message = failure.message
        if failure.retry_after_seconds is not None and failure.can_retry and attempt < self.retries.attempts:
            message += f"; the provider wants {failure.retry_after_seconds:g} seconds, which is too long"
        elif attempt > 1:
            message += f" (attempt {attempt} of {self.retries.attempts})"
        return ModelFailed(failure.code, message, usage=usage)


def _interrupted(parts: tuple[AnswerPart, ...], usage: Usage) -> Answer:
    return Answer(AssistantMessage(parts=parts, is_interrupted=True), usage)
