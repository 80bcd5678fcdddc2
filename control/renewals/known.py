"""What this process knows by itself: leases that it has renewed, for as long as it would have heard of anything new."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: The part of a lease after which Postgres is asked again, whatever is known.
DURABLE_SHARE = 1 / 3
#: A statement that began before something was heard, and ended after it, has ended by now.
REMEMBERED_NEWS_SECONDS = 60.0
#: How often what has ended is dropped.
DROP_SECONDS = 1.0


class Vouched(NamedTuple):
    """There is nothing new about a lease: it lasts for `remaining_seconds`, and Postgres is due in `due_seconds`."""

    remaining_seconds: float
    due_seconds: float
    expires_at: str
    is_cancelled: bool


class _Known(NamedTuple):
    host_id: str
    #: Before the statement that renewed it was sent.
    renewed_at: float
    expires_at: str
    is_cancelled: bool


class KnownLeases:
    """For one event loop. News is told with `forget`; whatever was read before it is not believed after it."""

    def __init__(
        self, *, lease_seconds: float, is_connected: Callable[[], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease_seconds = lease_seconds
        self._is_connected = is_connected
        self._clock = clock
        #: The one renewed longest ago first.
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._news_at: OrderedDict[str, float] = OrderedDict()
        self._gap_at = -1.0
        self._dropped_at = -math.inf

    def vouch(self, lease_id: str, host_id: str, *, cancel_seen: bool) -> Vouched | None:
        """What can be said without asking anybody; None where that is nothing."""
        known = self._known.get(lease_id)
        if known is None or known.host_id != host_id or not self._is_connected():
            return None
        if known.is_cancelled and not cancel_seen:
            return None
        age = self._clock() - known.renewed_at
        due_seconds = self._lease_seconds * DURABLE_SHARE - age
        if due_seconds <= 0:
            return None
        return Vouched(self._lease_seconds - age, due_seconds, known.expires_at, known.is_cancelled)

    def needs_postgres(self, lease_id: str) -> bool:
        """Whether Redis need not be asked: the lease is due, or there is news that Postgres has in full."""
        return lease_id in self._known or lease_id in self._news_at

    def remember(self, leases: Iterable[tuple[str, str, bool | None]], *, renewed_at: float, expires_at: str) -> None:
        """Postgres said so to a statement that was sent at `renewed_at`: leases, their hosts, and whether cancelled."""
        if renewed_at <= self._gap_at:
            return
        known, news_at = self._known, self._news_at
        for lease_id, host_id, is_cancelled in leases:
            if is_cancelled is not None and renewed_at > news_at.get(lease_id, -1.0):
                known[lease_id] = _Known(host_id, renewed_at, expires_at, is_cancelled)
                known.move_to_end(lease_id)
        if renewed_at >= self._dropped_at + DROP_SECONDS:
            self._drop_ended(renewed_at)

    def forget(self, lease_id: str) -> None:
        """There is news about this lease."""
        now = self._clock()
        self._known.pop(lease_id, None)
        self._news_at[lease_id] = now
        self._news_at.move_to_end(lease_id)
        while self._news_at and next(iter(self._news_at.values())) < now - REMEMBERED_NEWS_SECONDS:
            self._news_at.popitem(last=False)

    def forget_all(self) -> None:
        """News may have been missed."""
        self._gap_at = self._clock()
        self._known.clear()

    def _drop_ended(self, now: float) -> None:
        self._dropped_at = now
        ended_before = now - self._lease_seconds
        while self._known and next(iter(self._known.values())).renewed_at < ended_before:
            self._known.popitem(last=False)
