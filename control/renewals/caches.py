"""What is known without Postgres: by this process itself, and by Redis of what other processes have renewed."""

from collections.abc import Callable, Sequence
from uuid import UUID

from control.metrics import RENEWALS
from control.renewals.coalescer import Coalescer
from control.renewals.durable import Durable
from control.renewals.known import DURABLE_SHARE, KnownLeases, Vouched
from control.signals.lease_cache import CachedLease, LeaseCache, LeaseName
from control.store.leases import Renewal

MAX_BATCH_LOOKS = 2_000

_answered_by_process = RENEWALS.labels("process")
_answered_by_redis = RENEWALS.labels("redis")


class Caches:
    """Both caches, as one that vouches for leases: there is nothing new about them. For one event loop."""

    def __init__(self, cache: LeaseCache, *, lease_seconds: float, is_connected: Callable[[], bool]) -> None:
        self._lease_seconds = lease_seconds
        self._cache = cache
        self._known = KnownLeases(lease_seconds=lease_seconds, is_connected=is_connected)
        self._looks: Coalescer[Sequence[LeaseName], list[CachedLease | None]] = Coalescer(
            self._look_up, name="the lease cache", max_batch=MAX_BATCH_LOOKS, max_waiting=25 * MAX_BATCH_LOOKS
        )

    async def vouch_all(self, renewals: Sequence[Renewal]) -> list[Vouched] | None:
        """What is known of all of them; None where Postgres has to be asked about one, and so about all."""
        vouched: list[Vouched | None] = []
        unknown: list[int] = []
        for place, one in enumerate(renewals):
            known = self._known.vouch(one.lease_id, one.host_id, cancel_seen=one.cancel_seen)
            if known is None:
                if self._known.needs_postgres(one.lease_id):
                    return None
                unknown.append(place)
            vouched.append(known)
        if unknown and not await self._ask_redis(renewals, vouched, unknown):
            return None
        _answered_by_process.inc(len(renewals) - len(unknown))
        return [one for one in vouched if one is not None]

    def remember(self, renewals: Sequence[Renewal], durable: Durable) -> None:
        """Postgres has renewed them. Redis was told of it before."""
        answered = zip(renewals, durable.cancelled, strict=True)
        self._known.remember(
            ((one.lease_id, one.host_id, is_cancelled) for one, is_cancelled in answered),
            renewed_at=durable.renewed_at,
            expires_at=durable.expires_at,
        )

    def forget(self, lease_id: UUID) -> None:
        """There is news about this lease: Postgres has to be asked."""
        self._known.forget(str(lease_id))

    def forget_all(self) -> None:
        """News may have been missed: Redis has to be asked."""
        self._known.forget_all()

    async def close(self) -> None:
        await self._looks.close()
        self._cache.close()

    async def _ask_redis(self, renewals: Sequence[Renewal], vouched: list[Vouched | None], unknown: list[int]) -> bool:
        if self._cache.is_resting:
            return False
        names = [(renewals[place].host_id, renewals[place].lease_id) for place in unknown]
        for place, cached in zip(unknown, await self._looks.ask(names, size=len(names)), strict=True):
            vouched[place] = self._by_redis(cached)
        _answered_by_redis.inc(len(unknown))
        return all(vouched[place] is not None for place in unknown)

    def _by_redis(self, cached: CachedLease | None) -> Vouched | None:
        # Whatever says cancel is read from Postgres.
        if cached is None or cached.is_cancelled:
            return None
        remaining_seconds = cached.remaining_ms / 1000
        due_seconds = remaining_seconds - self._lease_seconds * (1 - DURABLE_SHARE)
        if due_seconds <= 0:
            return None
        return Vouched(remaining_seconds, due_seconds, cached.expires_at, is_cancelled=False)

    def _look_up(self, questions: list[Sequence[LeaseName]]) -> list[list[CachedLease | None]]:
        found = iter(self._cache.look([name for names in questions for name in names]))
        return [[next(found) for _ in names] for names in questions]
