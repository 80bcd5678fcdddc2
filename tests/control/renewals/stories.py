"""Plays what happens in an event loop, with a deadline on all of it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

#: Less than a third of the usual lease: what only ends because Postgres is due has not been woken.
DEADLINE_SECONDS = 8.0


def played(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Let a story happen, and fail if it does not end."""

    async def play() -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await story()

    asyncio.run(play())


async def until(condition: Callable[[], Any]) -> None:
    """Return when something that happens elsewhere has come to pass."""
    while not condition():  # noqa: ASYNC110 - there is no event for what happens in other threads and processes
        await asyncio.sleep(0.002)
