"""What runs beside the requests for as long as the application lives."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import anyio.to_thread
from fastapi import FastAPI

from control.api.edge import Edge
from control.app.keepers import drop_revoked, show_life, watch_sweeps
from control.jobs.schedule import ScheduledJob


def lifespan_of(
    edge: Edge, *, request_threads: int, sweeps: Sequence[ScheduledJob]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The lifespan: threads for handlers, the listener, and the keepers."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        # A thread without a database connection could only wait for one.
        anyio.to_thread.current_default_thread_limiter().total_tokens = request_threads
        tasks = [
            asyncio.create_task(edge.listener.run(), name="wakeup listener"),
            asyncio.create_task(show_life(edge.plane, is_renewing=edge.renewals.is_served), name="sign of life"),
            asyncio.create_task(drop_revoked(edge.plane, edge.drop_token), name="revocations"),
            asyncio.create_task(watch_sweeps(edge.plane, sweeps), name="sweep watch"),
        ]
        try:
            yield
        finally:
            await edge.renewals.close()
            await edge.callers.close()
            await _end(tasks)
            edge.plane.database.close()

    return lifespan


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
