"""Threads for blocking adb calls, apart from everybody else's: renewals must never wait for a phone."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class CallThreads:
    """A small pool of its own. What was started in it is always waited for."""

    def __init__(self, name: str, *, limit: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=limit, thread_name_prefix=name)
        self.is_closed = False

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`, which carries its own deadline.

        A cancel is heard after the call has ended: an action in flight is never cut off and never abandoned. A call
        that has not begun is dropped.
        """
        submitted = self._threads.submit(call)
        future = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not submitted.cancel():
                await _settle(future)
            raise

    def close(self) -> None:
        """No further calls. Those in flight end by their own deadlines."""
        self.is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _settle(future: asyncio.Future[T]) -> None:
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()  # The cancel is raised instead; asyncio would complain about one that nobody looked at.
