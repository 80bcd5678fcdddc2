"""The far side of a provider: a real HTTP server that answers as it is told, request by request."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Exchange:
    """One request, and the means to answer it. `closed` is set when the client hangs up."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self, status: int, body: Any = "", *, headers: dict[str, str] | None = None) -> None:
        payload = (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = "text/html" if isinstance(body, str) else "application/json"
        fields = {"content-type": kind, "content-length": str(len(payload)), "connection": "close", **(headers or {})}
        self._write(_head(status, fields) + payload)
        await self.writer.drain()

    async def start(self) -> None:
        self._write(_head(200, {"content-type": "text/event-stream", "connection": "close"}))
        await self.writer.drain()

    async def event(self, event: Any, *, name: str | None = None) -> None:
        text = event if isinstance(event, str) else json.dumps(event)
        self._write((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
        await self.writer.drain()

    async def chat(self, *deltas: dict[str, Any], finish: str | None = "stop", usage: tuple[int, int] = (7, 3)) -> None:
        """A chat completion of these deltas, whole unless `finish` is None."""
        await self.start()
        for delta in deltas:
            await self.delta(delta)
        if finish is not None:
            await self.event(chunk({}, finish=finish))
            tokens_in, tokens_out = usage
            total = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            }
            await self.event({**chunk({}), "choices": [], "usage": total})
            await self.event("[DONE]")

    async def delta(self, delta: dict[str, Any]) -> None:
        await self.event(chunk(delta))

    def reset(self) -> None:
        """Ends the connection as a crash does."""
        self.writer.transport.abort()

    def _write(self, content: bytes) -> None:
        if not self.closed.is_set():
            self.writer.write(content)


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass
class FakeProvider:
    """Plays its handlers in turn, the last one again and again."""

    handlers: list[Handler]
    exchanges: list[Exchange] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    server: asyncio.Server = field(init=False)
    errors: list[BaseException] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            exchange = await _request(reader, writer)
            self.exchanges.append(exchange)
            self.asked.set()
            handler = self.handlers[min(len(self.exchanges), len(self.handlers)) - 1]
            watch = asyncio.create_task(_hang_up(reader, exchange))
            self._tasks.add(watch)
            try:
                await handler(exchange)
            except ConnectionError:
                exchange.closed.set()
            except Exception as error:
                self.errors.append(error)
                raise
            if not writer.is_closing():
                writer.close()
            await watch
            self._tasks.discard(watch)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def chunk(delta: dict[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}


def call(name: str, arguments: str, *, index: int = 0, call_id: str = "call_1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


def more(arguments: str, *, index: int = 0) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


def says(*deltas: dict[str, Any] | str, finish: str | None = "stop") -> Handler:
    async def handler(exchange: Exchange) -> None:
        await exchange.chat(
            *({"content": delta} if isinstance(delta, str) else delta for delta in deltas), finish=finish
        )

    return handler


def fails(status: int, body: Any = "", **headers: str) -> Handler:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(status, body, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return handler


@asynccontextmanager
async def fake_provider(*handlers: Handler) -> AsyncIterator[FakeProvider]:
    provider = FakeProvider(list(handlers))
    provider.server = server = await asyncio.start_server(provider.connected, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.close()
        for exchange in provider.exchanges:
            exchange.closed.set()
            exchange.writer.transport.abort()
        for task in list(provider._tasks):
            task.cancel()
        await asyncio.gather(*provider._tasks, return_exceptions=True)
        await server.wait_closed()
    assert not provider.errors


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(fields.get("content-length", "0")))
    return Exchange(head[0].split(" ")[1], fields, json.loads(body or b"{}"), writer)


async def _hang_up(reader: asyncio.StreamReader, exchange: Exchange) -> None:
    try:
        await reader.read()
    except ConnectionError:
        pass
    finally:
        exchange.closed.set()


def _head(status: int, fields: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
