"""Answers renewals: from what is known while there is nothing new, else from Postgres.

    renew_host ─► hold the host's place ─► nothing new? ─ yes ─► wait: for news, a third of a lease, or wait_ms ─┐
                                             │  ▲                                                               │
                                          no ▼  └───────────────────────────────────────────────────────────────┘
                                           Postgres ─► answer

The place is taken before the first look, so news that comes between look and wait is not missed.
"""

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from control.operations.leases import stale_lease
from control.operations.plane import Plane
from control.renewals.bodies import HostRenewed, Renewed, RenewedLease
from control.renewals.caches import Caches
from control.renewals.durable import Ask, Durable, DurableRenewals
from control.renewals.exchange import CallerGone
from control.renewals.held import HeldRenewals
from control.renewals.known import DURABLE_SHARE, Vouched
from control.signals.lease_cache import LeaseCache
from control.signals.listener import WakeupListener
from control.signals.words import read_lease
from control.store.leases import Renewal

#: How many renewals one process holds; each costs some kilobytes. Who comes later polls.
MAX_HELD = 10_000
#: The part of a lease after which a lease that is renewed alone is asked about again: answered by the caches, so that
#: a cancel is heard soon.
POLL_SHARE = 1 / 18
#: How much earlier than they need to hosts may be told to come, so that they do not come all at once.
SPREAD_SHARE = 1 / 4


class _Looked(NamedTuple):
    """What was known of all leases of a request, by a look that began then; nothing where Postgres has to be asked."""

    began_at: float
    vouched: list[Vouched] | None
    can_hold_next: bool


class Renewals:
    """The renewals of one process. For one event loop; `close` it before the plane.

    Args:
        plane: its database serves the renewals alone.
    """

    def __init__(self, plane: Plane, cache: LeaseCache, listener: WakeupListener, *, max_held: int = MAX_HELD) -> None:
        self._lease_seconds = plane.timing.lease_seconds
        self._listener = listener
        self._caches = Caches(cache, lease_seconds=self._lease_seconds, is_connected=lambda: listener.is_connected)
        self._held = HeldRenewals(max_held=max_held)
        self._durable = DurableRenewals(plane, cache)
        listener.hear("lease", self._hear_news)
        listener.tell_gaps(self._hear_gap)

    async def renew_one(self, renewal: Renewal) -> Renewed:
        """Renew one lease.

        Raises:
            StaleLease: it has ended, or is another host's.
            NotReady: too many renewals wait.
        """
        # Who has seen a cancel says so to be written down.
        if not renewal.cancel_seen and (vouched := await self._caches.vouch_all([renewal])):
            return self._nothing_new(renewal.lease_id, vouched[0])
        durable = await self._renew(Ask(renewal.host_id, [renewal]))
        (is_cancelled,) = durable.cancelled
        if is_cancelled is None:
            raise stale_lease(renewal.lease_id)
        return Renewed(
            lease_id=renewal.lease_id,
            lease_expires_at=durable.expires_at,
            lease_remaining_ms=round(self._lease_seconds * 1000),
            renew_after_ms=self._poll_ms(),
            cancel_requested=is_cancelled,
        )

    async def renew_host(
        self,
        host_id: str,
        renewals: Sequence[Renewal],
        *,
        wait_seconds: float,
        received_at: float,
        is_gone: Callable[[], Awaitable[bool]],
    ) -> HostRenewed:
        """Renew all leases of a host; held while there is nothing new, for as long as the request allows.

        Raises:
            CallerGone: the host hung up while the request was held, so it gets no lease extended.
            NotReady: too many renewals wait.
        """
        looked = await self._hold(host_id, renewals, until=received_at + wait_seconds, is_gone=is_gone)
        # Counted up to the look: what the answer takes from there on must not make a lease longer.
        held_ms = int((looked.began_at - received_at) * 1000)
        if looked.vouched is not None:
            return self._still_good(renewals, looked, held_ms=held_ms)
        durable = await self._renew(Ask(host_id, renewals, is_whole_host=True))
        return self._renewed(renewals, durable, held_ms=held_ms)

    def forget(self, lease_id: UUID) -> None:
        """Have Postgres asked about this lease the next time."""
        self._caches.forget(lease_id)

    async def is_served(self) -> bool:
        """True as soon as the thread that renews has taken what was asked before: a hanging one never says so."""
        await self._durable.renew(Ask("", []))
        return True

    async def close(self) -> None:
        """Return when everything asked has been written and answered, and give back what was used."""
        await self._durable.close()
        await self._caches.close()

    async def _hold(
        self, host_id: str, renewals: Sequence[Renewal], *, until: float, is_gone: Callable[[], Awaitable[bool]]
    ) -> _Looked:
        if self._held.is_full:
            return await self._look_at(renewals, can_hold_next=False)
        with self._held.hold(host_id) as hold:
            while (looked := await self._look_at(renewals)).vouched is not None:
                limit_seconds = min(until - time.monotonic(), *(one.due_seconds for one in looked.vouched))
                if limit_seconds <= 0 or self._listener.is_ending:
                    break
                if hold.is_over:
                    # Two that take turns at the one place of their host must not do so in a loop.
                    return looked._replace(can_hold_next=False)
                await hold.wait(limit_seconds)
                hold.clear()
                if await is_gone():
                    raise CallerGone
        return looked

    async def _look_at(self, renewals: Sequence[Renewal], *, can_hold_next: bool = True) -> _Looked:
        began_at = time.monotonic()
        return _Looked(began_at, await self._caches.vouch_all(renewals), can_hold_next)

    async def _renew(self, ask: Ask) -> Durable:
        durable = await self._durable.renew(ask)
        self._caches.remember(ask.renewals, durable)
        return durable

    def _nothing_new(self, lease_id: str, vouched: Vouched) -> Renewed:
        return Renewed(
            lease_id=lease_id,
            lease_expires_at=vouched.expires_at,
            lease_remaining_ms=int(vouched.remaining_seconds * 1000),
            renew_after_ms=int(min(self._lease_seconds * POLL_SHARE, vouched.due_seconds) * 1000) + 1,
            cancel_requested=vouched.is_cancelled,
        )

    def _still_good(self, renewals: Sequence[Renewal], looked: _Looked, *, held_ms: int) -> HostRenewed:
        leases = [
            RenewedLease(
                "renewed", one.lease_id, known.expires_at, int(known.remaining_seconds * 1000), known.is_cancelled
            )
            for one, known in zip(renewals, looked.vouched or (), strict=True)
        ]
        return HostRenewed(leases, held_ms, renew_after_ms=0 if looked.can_hold_next else self._poll_ms())

    def _renewed(self, renewals: Sequence[Renewal], durable: Durable, *, held_ms: int) -> HostRenewed:
        lease_ms = round(self._lease_seconds * 1000)
        leases = [
            RenewedLease("stale", one.lease_id)
            if is_cancelled is None
            else RenewedLease("renewed", one.lease_id, durable.expires_at, lease_ms, is_cancelled)
            for one, is_cancelled in zip(renewals, durable.cancelled, strict=True)
        ]
        is_news = any(
            is_cancelled is None or (is_cancelled and not one.cancel_seen)
            for one, is_cancelled in zip(renewals, durable.cancelled, strict=True)
        )
        return HostRenewed(leases, held_ms, self._after_durable_ms(is_news=is_news), durable.other_leases)

    def _after_durable_ms(self, *, is_news: bool) -> int:
        """0 where the next request would be held. After news a host that did not take it in must not ask in a loop."""
        can_hold = self._listener.is_connected and not self._held.is_full
        return 0 if can_hold and not is_news else self._poll_ms()

    def _poll_ms(self) -> int:
        if self._listener.is_connected:
            return round(self._lease_seconds * POLL_SHARE * 1000)
        # Every host hears in the same moment that nothing can be held: they must not come back in the same moment too.
        share = DURABLE_SHARE * random.uniform(1 - SPREAD_SHARE, 1)  # noqa: S311 - no secret
        return round(self._lease_seconds * share * 1000)

    def _hear_news(self, rest: str) -> None:
        lease = read_lease(rest)
        self.forget(lease.lease_id)
        self._held.wake(str(lease.host_id))

    def _hear_gap(self) -> None:
        if self._listener.is_ending:
            self._held.end_all()
            return
        self._caches.forget_all()
        self._held.wake_all()
