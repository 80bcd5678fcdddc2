"""Waiting for somebody else, who need not answer before the turn ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from workers.agent.cancellation import CancelSignal

T = TypeVar("T")


async def until_aborted(work: Coroutine[Any, Any, T], signal: CancelSignal, *, name: str | None = None) -> T:
    """What `work` brings. Raises `TurnInterrupted`: the signal fired before, and `work` was cancelled and has ended."""
    working = asyncio.create_task(work, name=name)
    forget = signal.on_abort(working.cancel)
    try:
        return await working
    except asyncio.CancelledError:
        # Cancelled by the signal, or this very task was: then that goes on.
        signal.check()
        raise
    finally:
        forget()
