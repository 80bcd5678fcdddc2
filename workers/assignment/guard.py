"""What a run may still do, as far as its lease goes.

Two questions, and each answer only ever changes once. *Should stop*: end at the next boundary, for the reason that came
first. *May touch*: the device is still ours. A cancelled run should stop and may touch, to clean up after itself; a run
whose lease is lost or whose deadline has passed may not touch the device again, whatever arrives later.
"""

import asyncio
import threading
from enum import StrEnum
from uuid import UUID

from workers.clock import Clock, pause
from workers.run.stop import CANCELLATION_REASON, INTERRUPTED_REASON

#: The part of a lease that is given up at its end: the last action sent has this long to finish on the phone.
MARGIN_SHARE = 1 / 10
#: How often, in parts of a lease, the deadline is looked at while nobody asks.
WATCH_SHARE = 1 / 30


class StopReason(StrEnum):
    """Why a run was stopped from outside. These sentences are shown to people as they are."""

    CANCELLED = CANCELLATION_REASON
    LEASE_REJECTED = "lease rejected by control plane"
    LEASE_DEADLINE = "lease deadline passed without an answer from control plane"
    HOST_SHUTDOWN = "host shut down"
    HOST_REPLACED = "another life of this host took over"
    DEVICE_BUSY = "the device was given out while its last run went on"
    TASK_TIMEOUT = "task ran longer than its timeout_seconds"


class LeaseGuard:
    """Made in the event loop of the run; the questions may be asked from any thread."""

    def __init__(self, lease_id: UUID, *, lease_seconds: float, clock: Clock) -> None:
        self.lease_id = lease_id
        #: Set once the run should stop: it cuts waits short.
        self.stopped = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._lock = threading.Lock()
        self._touch_until: float | None = None
        self._is_lost = False
        self._reason: StopReason | None = None

    @property
    def reason(self) -> StopReason | None:
        """Why the run should stop; the first reason stays."""
        self._look_at_the_clock()
        return self._reason

    def should_stop(self) -> bool:
        return self.reason is not None

    def stop_reason(self) -> str:
        """The reason in words, for the runner that ends because of it."""
        return self.reason or INTERRUPTED_REASON

    def may_touch(self) -> bool:
        """Ask immediately before each action that is sent to the device."""
        self._look_at_the_clock()
        return not self._is_lost

    def extend(self, *, sent_at: float, held_ms: int, remaining_ms: int) -> None:
        """Trust the lease as long as this answer says, counted from when its request was sent.

        Answers must come in the order of their requests: the last one counts even where it is the shorter, for an
        operator may have shortened the lease. A deadline that has passed is not extended.
        """
        self._look_at_the_clock()
        margin_seconds = self._lease_seconds * MARGIN_SHARE
        with self._lock:
            if not self._is_lost:
                self._touch_until = sent_at + (held_ms + remaining_ms) / 1000 - margin_seconds

    def stop(self, reason: StopReason) -> None:
        """The run should stop; it may still clean up on the device."""
        with self._lock:
            self._stop(reason)

    def lose(self, reason: StopReason) -> None:
        """The device is no longer ours."""
        with self._lock:
            self._is_lost = True
            self._stop(reason)

    async def watch(self) -> None:
        """Notice the deadline although nobody asks; returns once the lease is lost."""
        never = asyncio.Event()
        while self.may_touch():
            await pause(self._lease_seconds * WATCH_SHARE, until=never)

    def _look_at_the_clock(self) -> None:
        with self._lock:
            if self._touch_until is not None and not self._is_lost and self._clock() >= self._touch_until:
                self._is_lost = True
                self._stop(StopReason.LEASE_DEADLINE)

    def _stop(self, reason: StopReason) -> None:
        if self._reason is None:
            self._reason = reason
            self._loop.call_soon_threadsafe(self.stopped.set)
