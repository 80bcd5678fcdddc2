"""Several phones at once: in the running event loop, or on a thread of their own for synchronous callers."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from workers.phone.app.description import AppDescription, load_apps
from workers.phone.phone import Phone
from workers.phone.server import LOOPBACK, PhoneServer, serve_phone

_START_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Fleet:
    """Phones that are being served."""

    servers: tuple[PhoneServer, ...]

    @property
    def phones(self) -> list[Phone]:
        return [server.phone for server in self.servers]

    @property
    def addresses(self) -> list[str]:
        """What `adb connect` takes, in the order of the phones."""
        return [server.address for server in self.servers]


@asynccontextmanager
async def serve_phones(
    *,
    count: int,
    apps: Sequence[AppDescription],
    base_port: int = 0,
    first_serial: int = 1,
    log_dir: Path | None = None,
    listen: str = LOOPBACK,
) -> AsyncGenerator[Fleet]:
    """Serve phones `CORRAL0001`, … while the block runs; with a base port, on that and the following ports."""
    async with AsyncExitStack() as stack:
        servers: list[PhoneServer] = []
        for number in range(count):
            serial = f"CORRAL{first_serial + number:04d}"
            phone = Phone(serial, apps=apps, log_file=log_dir / f"{serial}.jsonl" if log_dir else None)
            port = base_port + number if base_port else 0
            servers.append(await stack.enter_async_context(serve_phone(phone, port=port, listen=listen)))
        yield Fleet(tuple(servers))


@contextmanager
def phones(
    *, count: int = 1, apps: Sequence[AppDescription | Path] = (), log_dir: Path | None = None
) -> Generator[Fleet]:
    """The same for synchronous callers: the phones run on a thread of their own.

    `apps` may be files and folders as well. Ordering faults, changing `link_state` and reading the log are safe from
    the caller's thread.
    """
    descriptions = [app for app in apps if isinstance(app, AppDescription)]
    descriptions += load_apps([app for app in apps if isinstance(app, Path)])
    with _EventLoopThread() as loop:
        serving = serve_phones(count=count, apps=descriptions, log_dir=log_dir)
        fleet = asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(_START_SECONDS)
        try:
            yield fleet
        finally:
            asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(_START_SECONDS)


class _EventLoopThread:
    def __enter__(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="phones", daemon=True)
        self._thread.start()
        return self._loop

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
