"""Messages of the protocol over standard input and output, one line of JSON each."""

import asyncio
import json
import os
import selectors
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import FileIO
from typing import Any, Protocol, TextIO, cast

import structlog

log = structlog.get_logger()

#: A prompt with a long text in it; nothing that is taken is larger.
MAX_LINE_BYTES = 4 * 1024 * 1024

_PARSE_ERROR = {"code": -32700, "message": "Parse error: each line is one JSON object"}


class NotAPipe(Exception):
    """Standard input and output are not what a client connects to: pipes, sockets or a terminal."""


class MessageStream(Protocol):
    """Messages in and out; `receive` answers None at the end."""

    async def send(self, message: dict[str, Any]) -> None: ...

    async def receive(self) -> dict[str, Any] | None: ...

    async def close(self) -> None: ...


class LineStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        # What the protocol's library says of a wrong request can hold objects of its own.
        line = json.dumps(message, separators=(",", ":"), default=str)
        self._writer.write(line.encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message. What is none is answered with an error and passed over."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                log.warning("acp.line_too_long", limit_bytes=MAX_LINE_BYTES)
                await self._refuse()
                continue
            if not line:
                return None
            if not line.strip():
                continue
            message = _message_in(line)
            if message is not None:
                return message
            log.warning("acp.not_a_message", length=len(line))
            await self._refuse()

    async def close(self) -> None:
        self._writer.close()

    async def _refuse(self) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": _PARSE_ERROR})


def _message_in(line: bytes) -> dict[str, Any] | None:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


@asynccontextmanager
async def stdio_stream() -> AsyncGenerator[LineStream]:
    """The stream of this process. Until it is closed, whatever else prints goes to standard error.

    Raises:
        NotAPipe: input or output is a file, or input is /dev/null or closed.
    """
    if not _tells_when_to_read(sys.stdin) or sys.stdout is None:
        raise NotAPipe(NotAPipe.__doc__)
    sys.stdout.flush()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    before = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        async with _connected(output) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        os.dup2(before, sys.stdout.fileno())
        os.close(before)


def _tells_when_to_read(file: TextIO | None) -> bool:
    # The event loop would find out in a callback of its own, after it has said that it is connected, and wait for ever.
    if file is None:
        return False
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(file, selectors.EVENT_READ)
        except (PermissionError, ValueError):
            return False
    return True


@asynccontextmanager
async def _connected(output: FileIO) -> AsyncGenerator[LineStream]:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=MAX_LINE_BYTES)
    try:
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        writing, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), output
        )
    except ValueError as trouble:
        output.close()
        raise NotAPipe(NotAPipe.__doc__) from trouble
    try:
        yield LineStream(reader, asyncio.StreamWriter(writing, protocol, None, loop))
    finally:
        reading.close()
        writing.close()
