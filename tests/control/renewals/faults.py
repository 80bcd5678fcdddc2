"""A Redis that goes wrong: a way to it that is slow, and a server of one's own that can be frozen."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from corral.stack.valkey import EmbeddedValkey


@dataclass
class Delay:
    seconds: float


@asynccontextmanager
async def slow_way_to(url: str, delay: Delay) -> AsyncIterator[str]:
    """An address that leads to the same server, whose answers come that much later."""
    target = urlsplit(url)
    pumps: set[asyncio.Task[None]] = set()
    opened: list[asyncio.StreamWriter] = []

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay: Delay) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                await asyncio.sleep(delay.seconds)
                sink.write(data)
                await sink.drain()
        sink.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(target.hostname, target.port)
        opened.extend((writer, back))
        for one in (pump(reader, back, Delay(0)), pump(there, writer, delay)):
            pumps.add(asyncio.create_task(one))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}{target.path}"
    finally:
        server.close()
        for one in pumps:
            one.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for one in opened:
            one.close()
        await asyncio.gather(*[one.wait_closed() for one in opened], return_exceptions=True)


@contextmanager
def own_valkey(folder: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(folder)
    server.start()
    try:
        yield server
    finally:
        # A frozen one would not hear that it is to end.
        thaw(server)
        server.stop()


def freeze(server: EmbeddedValkey) -> None:
    _send(server, signal.SIGSTOP)


def thaw(server: EmbeddedValkey) -> None:
    _send(server, signal.SIGCONT)


def _send(server: EmbeddedValkey, number: signal.Signals) -> None:
    assert server.process is not None
    if server.process.poll() is None:
        server.process.send_signal(number)
