"""Models that ask nobody: the seams at which tests take the place of a provider."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workers.agent.cancellation import CancelSignal
from workers.agent.model.interface import Answer, ModelRequest, OnDelta

if TYPE_CHECKING:
    from workers.agent.model.adapter import PydanticAIModel

Script = Callable[[ModelRequest, CancelSignal, OnDelta], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A function as a model. It gets what a model gets, and keeps what a model promises."""

    script: Script
    name: str = "scripted"
    takes_images: bool = False

    async def generate(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        return await self.script(request, signal, on_delta)


def streaming_model(
    stream: Callable[[list[Any], Any], AsyncIterator[Any]], *, takes_images: bool = False, **settings: Any
) -> "PydanticAIModel":
    """A model behind the adapter that every provider is behind, made of a stream function of pydantic-ai.

    `stream` is given pydantic-ai's messages and `AgentInfo`, and yields texts and `DeltaToolCalls`. `settings` are
    those of `PydanticAIModel`.
    """
    from pydantic_ai.models.function import FunctionModel

    from workers.agent.model.adapter import PydanticAIModel

    model = FunctionModel(stream_function=stream, model_name="streaming")
    return PydanticAIModel("streaming", model, takes_images=takes_images, says_when_finished=False, **settings)
