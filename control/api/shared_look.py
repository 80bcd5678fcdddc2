"""One look for all claims that wait: whether any of their hosts has work that no wake-up told of."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from uuid import UUID

Look = Callable[[], Awaitable[frozenset[UUID]]]


class SharedLook:
    """A thousand claims that look again every few seconds would each ask Postgres; here they ask together.

    A look serves everybody who comes within `max_age_seconds` of its beginning, those who wait for its answer included.
    """

    def __init__(self) -> None:
        self._began_at = float("-inf")
        self._answer: asyncio.Future[frozenset[UUID]] | None = None

    async def has_work(self, host_id: UUID, look: Look, *, max_age_seconds: float) -> bool:
        """Whether this host had an assignment when the last look was made, or a fresh one where that is too old."""
        now = time.monotonic()
        if self._answer is None or now - self._began_at > max_age_seconds or _has_failed(self._answer):
            self._began_at = now
            self._answer = asyncio.ensure_future(look())
        # One claim that goes away must not take the answer from the others.
        return host_id in await asyncio.shield(self._answer)


def _has_failed(answer: asyncio.Future[frozenset[UUID]]) -> bool:
    return answer.done() and (answer.cancelled() or answer.exception() is not None)
