"""One request to a provider, read to its end or to its cut.

It is read in a task of its own, so that it can be cut off while it waits: cancelling that task is what closes the
connection. The task is awaited whatever happens; when `read()` returns nothing of the request runs any more.

    read() ── task: open, event, event, … ──────────────► complete, or an error of the provider
                 ▲ cancelled by the first of
                 ├── the signal
                 ├── the deadline
                 ├── more than anybody can use
                 └── silence for `idle_seconds`
"""

import asyncio
from typing import Literal

import structlog
from pydantic_ai import messages as wire
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, StreamedResponse

from workers.agent.cancellation import CancelSignal
from workers.agent.messages import AnswerPart
from workers.agent.model.answer_parts import delivered_parts, valid_text
from workers.agent.model.connections import Connections
from workers.agent.model.interface import AnswerDelta, ModelRequest, OnDelta, Usage
from workers.agent.model.provider_messages import provider_messages, request_parameters, request_settings
from workers.agent.model.received import Cut, Received
from workers.clock import Clock

log = structlog.get_logger()

#: How often the clock is looked at. The loop's timers stand still while the machine sleeps, deadlines do not.
_LOOK_SECONDS = 5.0

#: Of texts, thoughts and arguments together: several times what the largest models may say in one answer. The libraries
#: take the longer for each piece the more came before it, and all the runs of this host wait meanwhile.
MAX_ANSWER_CHARACTERS = 1_000_000
#: No answer has dozens: each call is made on what the one before did to the screen.
MAX_CALLS = 200

#: A library may swallow a cancellation; it is asked again after so long.
_CANCEL_AGAIN_SECONDS = 1.0


class AnswerStream:
    def __init__(
        self,
        model: Model,
        request: ModelRequest,
        on_delta: OnDelta,
        *,
        connections: Connections,
        idle_seconds: float,
        clock: Clock,
    ) -> None:
        self._model = model
        self._request = request
        self._on_delta = on_delta
        self._connections = connections
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._last_event_at = clock()
        self._stream: StreamedResponse | None = None
        self._ended_calls: set[str] = set()
        self._calls_left = MAX_CALLS
        self._chars_left = MAX_ANSWER_CHARACTERS
        self._defect: Exception | None = None
        self._received = Received()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def read(self, signal: CancelSignal) -> Received:
        """Reads it all. Raises what `on_delta` raised, and nothing of the provider's."""
        self._task = asyncio.create_task(self._read(), name="model-stream")
        forget = signal.on_abort(lambda: self._cut("signal"))
        self._watch()
        try:
            await self._settle(self._task)
        finally:
            forget()
            self._stop_timer()
        self._take_end(self._task)
        if self._defect is not None:
            raise self._defect
        return self._received

    async def _read(self) -> None:
        try:
            await self._read_stream()
        finally:
            await self._connections.close()

    async def _read_stream(self) -> None:
        messages = provider_messages(self._request, provider=self._model.system)
        async with model_request_stream(
            self._model,
            messages,
            model_settings=request_settings(self._request),
            model_request_parameters=request_parameters(self._request),
        ) as stream:
            self._stream = stream
            # Read on after a cut, until the cancellation arrives: to leave in the middle would leave the generators
            # below behind, which only an error ends.
            async for event in stream:
                if self._received.cut is None:
                    self._take(event)
            if self._received.cut is None:
                # Taken before the connection is closed: from here on, nothing can spoil this answer.
                self._received.response = stream.get()

    def _take(self, event: wire.ModelResponseStreamEvent) -> None:
        self._last_event_at = self._clock()
        match event:
            case wire.PartStartEvent(part=wire.TextPart(content=text)):
                self._send("text", text)
            case wire.PartStartEvent(part=wire.ThinkingPart(content=text)):
                self._send("thinking", text)
            case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)):
                self._send("text", text)
            case wire.PartDeltaEvent(delta=wire.ThinkingPartDelta(content_delta=text)):
                self._send("thinking", text)
            case wire.PartStartEvent(part=wire.ToolCallPart(args=arguments)):
                self._calls_left -= 1
                self._count(arguments)
            case wire.PartDeltaEvent(delta=wire.ToolCallPartDelta(args_delta=arguments)):
                self._count(arguments)
            case wire.PartEndEvent(part=wire.ToolCallPart(tool_call_id=call_id)):
                self._ended_calls.add(call_id)
            case _:
                pass

    def _count(self, piece: object) -> None:
        # Arguments that come as an object come whole, and were bounded as bytes.
        self._chars_left -= len(piece) if isinstance(piece, str) else 0
        if self._chars_left < 0 or self._calls_left < 0:
            self._cut("excess")

    def _send(self, kind: Literal["text", "thinking"], text: str | None) -> None:
        if not text:
            return
        self._count(text)
        self._received.has_sent_deltas = True
        try:
            self._on_delta(AnswerDelta(kind, valid_text(text)))
        except Exception as error:  # noqa: BLE001  raised by `read` once the stream is closed
            self._defect = error
            self._cut("defect")

    def _cut(self, why: Cut) -> None:
        if self._received.cut is not None or self._received.response is not None:
            return
        self._received.cut = why
        self._cancel()
        # Now, not when the task has ended: what arrives in between was not delivered.
        self._received.parts = self._delivered()

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_later(_CANCEL_AGAIN_SECONDS, self._cancel)

    def _watch(self) -> None:
        """Cuts the stream when it is time, else looks again when it may be."""
        if self._received.cut is not None:
            return
        now = self._clock()
        left = self._last_event_at + self._idle_seconds - now
        deadline_at = self._request.deadline_at
        if deadline_at is not None and now >= deadline_at:
            self._cut("deadline")
        elif left <= 0:
            self._cut("idle")
        else:
            left = left if deadline_at is None else min(left, deadline_at - now)
            self._timer = asyncio.get_running_loop().call_later(min(left, _LOOK_SECONDS), self._watch)

    async def _settle(self, task: asyncio.Task[None]) -> None:
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            self._cut("defect")
            while not task.done():
                try:
                    await asyncio.wait({task})
                except asyncio.CancelledError:
                    self._cancel()
            raise

    def _take_end(self, task: asyncio.Task[None]) -> None:
        received = self._received
        if self._stream is not None:
            received.usage = Usage(self._stream.usage.input_tokens, self._stream.usage.output_tokens)
        if received.cut is None:
            received.parts = self._delivered()
        if received.response is not None:
            return
        if received.cut is None:
            received.error = asyncio.CancelledError() if task.cancelled() else task.exception()
        elif not task.cancelled() and (error := task.exception()) is not None:
            # Whatever a library makes of its cancellation: the cut was ours.
            log.debug("model.stream_cut", why=received.cut, error=type(error).__name__)

    def _delivered(self) -> tuple[AnswerPart, ...]:
        return () if self._stream is None else delivered_parts(self._stream.get().parts, self._ended_calls)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
