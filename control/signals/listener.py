"""Hears what the processes tell each other, and passes it on within this one.

    RedisWakeups ──► channel corral:wakeups ──► WakeupListener.run() ──► waiting claims, held renewals, verified tokens

A word can be lost: whoever waits is always told how long to wait at most, and while the channel is not connected that
is shorter. Whenever the connection comes or goes all waiters wake and whoever asked is told of a gap, for what was
published in between is not known.
"""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import structlog

from control.signals.client import LISTEN_HEALTH_SECONDS, listening_client
from control.signals.words import CHANNEL, read_words

log: structlog.stdlib.BoundLogger = structlog.get_logger()

#: A waiting claim looks again after this even if nothing woke it: what a lost wake-up costs at most.
RECHECK_SECONDS = 5.0
#: The same while no wake-up can arrive at all.
DEAF_RECHECK_SECONDS = 1.0
#: Three unanswered questions: the connection is dead, though nobody closed it.
SILENCE_SECONDS = 3 * LISTEN_HEALTH_SECONDS
RECONNECT_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


class Waiter:
    """One request that waits. Clear it before looking, so that what comes during the look is not missed."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    def clear(self) -> None:
        self._woken.clear()

    async def wait(self, limit_seconds: float) -> None:
        """Return when woken, or after the limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                await self._woken.wait()


class WakeupListener:
    """The wake-ups of one process: `run` it as a task, and wait with `waiting_for`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiters: defaultdict[UUID, set[Waiter]] = defaultdict(set)
        self._hearers: dict[str, Callable[[str], None]] = {"work": self._wake_host}
        self._told_of_gaps: list[Callable[[], None]] = []
        self.is_connected = False
        self.is_ending = False

    @property
    def recheck_seconds(self) -> float:
        """How long a claim may wait before it looks again unasked."""
        return RECHECK_SECONDS if self.is_connected else DEAF_RECHECK_SECONDS

    def hear(self, kind: str, hearer: Callable[[str], None]) -> None:
        """Have `hearer` called with what follows each word of this kind. A ValueError of it skips the word."""
        self._hearers[kind] = hearer

    def tell_gaps(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever words may have been missed, and when waiting is over."""
        self._told_of_gaps.append(told)

    @contextmanager
    def waiting_for(self, host_id: UUID) -> Generator[Waiter]:
        """A waiter that hears this host's wake-ups while the block runs."""
        waiter = Waiter()
        self._waiters[host_id].add(waiter)
        try:
            yield waiter
        finally:
            self._waiters[host_id].discard(waiter)
            if not self._waiters[host_id]:
                del self._waiters[host_id]

    def end_holds(self) -> None:
        """Let everything that waits answer now, and nothing later wait: the process is about to end."""
        self.is_ending = True
        self._tell_gap()

    async def run(self) -> None:
        """Listen until cancelled, through every outage of Redis."""
        failures = 0
        while True:
            try:
                await self._listen()
            except Exception as error:  # noqa: BLE001 - a listener that ends leaves the process deaf for good
                failures = 1 if self.is_connected else failures + 1
                if failures == 1:
                    log.warning("wakeups.disconnected", error=f"{type(error).__name__}: {error}")
                self._set_connected(False)
            await asyncio.sleep(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS)) - 1])

    async def _listen(self) -> None:
        client = listening_client(self._url)
        pubsub: Any = client.pubsub()  # pyright: ignore[reportUnknownMemberType] - redis-py leaves its kwargs untyped
        try:
            await pubsub.subscribe(CHANNEL)
            await self._hear(pubsub)
        finally:
            await pubsub.aclose()
            await client.aclose()

    async def _hear(self, pubsub: Any) -> None:
        heard_at = time.monotonic()
        while True:
            message = await pubsub.get_message(timeout=LISTEN_HEALTH_SECONDS)
            if message is not None:
                heard_at = time.monotonic()
                self._take(message)
            elif time.monotonic() - heard_at > SILENCE_SECONDS:
                raise TimeoutError("Redis has not answered for a while")
            else:
                await pubsub.ping()

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self._set_connected(True)
            log.info("wakeups.connected")
        elif message["type"] == "message":
            for kind, rest in read_words(message["data"]):
                self._pass_on(kind, rest)

    def _pass_on(self, kind: str, rest: str) -> None:
        hearer = self._hearers.get(kind)
        try:
            if hearer is not None:
                hearer(rest)
        except ValueError:
            log.warning("wakeups.unreadable", kind=kind, word=repr(rest[:50]))

    def _wake_host(self, rest: str) -> None:
        for waiter in self._waiters.get(UUID(rest), ()):
            waiter.wake()

    def _set_connected(self, is_connected: bool) -> None:  # noqa: FBT001 - the one argument of a setter
        if is_connected != self.is_connected:
            # Whoever remembers something must have forgotten it before a thread can see that all is heard again.
            self.is_connected = False
            self._tell_gap()
            self.is_connected = is_connected

    def _tell_gap(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()
        for told in self._told_of_gaps:
            told()
