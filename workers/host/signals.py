"""How an operator or a supervisor ends a host process."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

from workers.host.life import HostLife


@contextmanager
def end_by_signals(life: HostLife) -> Generator[None]:
    """While the block runs, the first SIGTERM or SIGINT drains the host, and the second stops it."""

    def note() -> None:
        (life.stop_now if life.draining.is_set() else life.drain)()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, note)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
