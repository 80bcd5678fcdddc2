"""Renewals in Postgres: all that wait are one statement, and what it says is in the cache before anybody hears it."""

import time
from collections.abc import Sequence
from datetime import UTC
from typing import NamedTuple

from control.metrics import RENEWAL_BATCH_ROWS, RENEWAL_BATCHES, RENEWALS
from control.operations.leases import RenewedLeases, renew_leases
from control.operations.plane import Plane
from control.renewals.coalescer import Coalescer
from control.signals.lease_cache import LeaseCache
from control.store.leases import Renewal

#: Large enough that the trips to Postgres do not count, small enough that its locks are held for milliseconds.
MAX_BATCH_LEASES = 1_000
#: Some seconds of work: whoever comes later is better told so than kept.
MAX_WAITING_LEASES = 50_000

_answered_from_postgres = RENEWALS.labels("postgres")


class Ask(NamedTuple):
    """What one request wants renewed. A whole host is also told of leases that it did not name."""

    host_id: str
    renewals: Sequence[Renewal]
    is_whole_host: bool = False


class Durable(NamedTuple):
    """What Postgres said. `cancelled` has an entry for each renewal: None where the lease has ended."""

    renewed_at: float
    expires_at: str
    cancelled: Sequence[bool | None]
    other_leases: list[str]


class DurableRenewals:
    """Asks Postgres in one thread, with a connection of its own: nothing else can keep a renewal waiting."""

    def __init__(self, plane: Plane, cache: LeaseCache) -> None:
        self._plane = plane
        self._cache = cache
        self._batches: Coalescer[Ask, Durable] = Coalescer(
            self._renew, name="renewals", max_batch=MAX_BATCH_LEASES, max_waiting=MAX_WAITING_LEASES
        )

    async def renew(self, ask: Ask) -> Durable:
        """Raises NotReady where too many wait."""
        return await self._batches.ask(ask, size=len(ask.renewals))

    async def close(self) -> None:
        await self._batches.close()
        self._plane.database.close()

    def _renew(self, asks: list[Ask]) -> list[Durable]:
        renewed_at = time.monotonic()
        renewals = [renewal for ask in asks for renewal in ask.renewals]
        whole_hosts = [ask.host_id for ask in asks if ask.is_whole_host]
        renewed = renew_leases(self._plane, renewals, hosts_to_check=whole_hosts)
        RENEWAL_BATCHES.inc()
        RENEWAL_BATCH_ROWS.observe(len(renewals))
        _answered_from_postgres.inc(len(renewals))
        expires_at = renewed.expires_at.astimezone(UTC).isoformat() if renewed.expires_at else ""
        self._fill(renewals, renewed, expires_at, renewed_at=renewed_at)
        return _shared_out(asks, renewed, expires_at, renewed_at)

    def _fill(self, renewals: list[Renewal], renewed: RenewedLeases, expires_at: str, *, renewed_at: float) -> None:
        live = {
            (renewal.host_id, renewal.lease_id): is_cancelled
            for renewal, is_cancelled in zip(renewals, renewed.cancelled, strict=True)
            if is_cancelled is not None
        }
        elapsed_seconds = time.monotonic() - renewed_at
        remaining_ms = int((self._plane.timing.lease_seconds - elapsed_seconds) * 1000)
        self._cache.fill(live, remaining_ms=remaining_ms, expires_at=expires_at)


def _shared_out(asks: list[Ask], renewed: RenewedLeases, expires_at: str, renewed_at: float) -> list[Durable]:
    answers: list[Durable] = []
    place = 0
    for ask in asks:
        following = place + len(ask.renewals)
        others = [str(lease_id) for lease_id in renewed.others.get(ask.host_id, ())] if ask.is_whole_host else []
        answers.append(Durable(renewed_at, expires_at, renewed.cancelled[place:following], others))
        place = following
    return answers
