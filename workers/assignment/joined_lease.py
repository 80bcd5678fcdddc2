"""A lease that shares its renewals with others."""

import asyncio
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from corral.contract.host_protocol import HeldLease, RenewedLease
from workers.assignment.renewal_pace import retry_seconds


class JoinedLease(Protocol):
    """What one lease says in a shared request, and hears from its answer."""

    lease_id: UUID
    lease_seconds: float

    def held(self) -> HeldLease: ...

    def believe(self, entry: RenewedLease, *, sent_at: float, held_ms: int) -> bool:
        """Trust the lease and obey the cancel. True if that is news, which the control plane must be told."""
        ...


@dataclass(eq=False, slots=True)
class Member:
    """One stay of a lease among the others."""

    lease: JoinedLease
    #: Settled when the lease is to go on alone: after how many seconds, or None if it is lost.
    parted: asyncio.Future[float | None]

    def part(self, *, wait_seconds: float | None = None) -> None:
        """Let the lease ask alone, after a pause unless it is said how long."""
        if not self.parted.done():
            self.parted.set_result(retry_seconds(self.lease.lease_seconds) if wait_seconds is None else wait_seconds)

    def lose(self) -> None:
        if not self.parted.done():
            self.parted.set_result(None)
