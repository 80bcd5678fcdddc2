"""A model behind a real server, and what the loop would hand it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.workers.agent.model.fake_provider import FakeProvider, Handler, fake_provider
from workers.agent.cancellation import TurnCancellation
from workers.agent.messages import UserMessage
from workers.agent.model.adapter import PydanticAIModel
from workers.agent.model.interface import Answer, AnswerDelta, ModelRequest, ToolSpec
from workers.agent.model.providers import open_model
from workers.agent.model.retries import Retries

TAP = ToolSpec("tap", "Taps an element.", {"type": "object", "properties": {"element": {"type": "integer"}}})
REQUEST = ModelRequest(system="You drive a phone.", messages=(UserMessage(text="Go."),), tools=(TAP,))
#: So short that a test of retries does not wait.
QUICK = Retries(first_wait_seconds=0.001)


@dataclass
class Bench:
    """One model, its provider, and all that was heard of an answer."""

    provider: FakeProvider
    model: PydanticAIModel
    turn: TurnCancellation = field(default_factory=TurnCancellation)
    deltas: list[AnswerDelta] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def heard(self) -> list[str]:
        return ["(restart)" if delta.is_restart else delta.text for delta in self.deltas]

    async def ask(
        self, request: ModelRequest = REQUEST, *, on_delta: Callable[[AnswerDelta], None] | None = None
    ) -> Answer:
        def hear(delta: AnswerDelta) -> None:
            self.deltas.append(delta)
            self.began.set()
            if on_delta is not None:
                on_delta(delta)

        return await self.model.generate(request, self.turn.signal, hear)


@asynccontextmanager
async def benched(*handlers: Handler, name: str = "compatible:fake", **settings: Any) -> AsyncIterator[Bench]:
    async with fake_provider(*handlers) as provider:
        url = provider.url if name.startswith(("anthropic", "google")) else f"{provider.url}/v1"
        model = open_model(name, url=url, api_key="sk-secret-key-1", environment={})
        model = replace(model, retries=QUICK, **settings)
        try:
            yield Bench(provider, model)
        finally:
            await model.aclose()


@pytest.fixture(autouse=True)
def lines() -> Iterator[list[Any]]:
    """The log, kept: printing a traceback of a provider's library takes a second."""
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
