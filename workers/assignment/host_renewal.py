"""The renewals of a whole host: its leases share one held request, or a few where they are very many."""

import asyncio
from uuid import UUID

import structlog

from workers.assignment.joined_lease import JoinedLease
from workers.assignment.shared_renewal import SharedRenewal
from workers.assignment.unknown_leases import UnknownLeases
from workers.clock import Clock
from workers.control_client.client import ControlClient

#: A control plane that is being replaced answers in two ways for a while.
ASK_AGAIN_SECONDS = 600.0

log = structlog.get_logger()


class HostRenewal:
    """One for a host, whatever runs on it; it shares no lock, thread or connection with the work."""

    def __init__(self, *, client: ControlClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._requests: list[SharedRenewal] = []
        self._has_grown = asyncio.Event()
        self._unknown = UnknownLeases(clock)
        self._alone_until = clock()

    @property
    def is_offered(self) -> bool:
        """False while the control plane is known to be of a version that renews each lease alone."""
        return self._clock() >= self._alone_until

    def know(self, lease_id: UUID) -> None:
        """This host works on the lease, together with others or alone."""
        self._unknown.know(lease_id)

    async def keep(self, lease: JoinedLease) -> float:
        """Renew this lease with the others. Returns after how many seconds it must be renewed alone.

        Raises:
            LeaseLost: the control plane said so of this lease.
        """
        return await self._request_with_room().keep(lease)

    async def run(self) -> None:
        """Goes on until it is cancelled, which must be after the last lease."""
        running = 0
        async with asyncio.TaskGroup() as loops:
            while True:
                for request in self._requests[running:]:
                    loops.create_task(request.run(), name="renewal")
                running = len(self._requests)
                self._has_grown.clear()
                await self._has_grown.wait()

    def _request_with_room(self) -> SharedRenewal:
        for request in self._requests:
            if request.has_room:
                return request
        request = SharedRenewal(
            client=self._client,
            clock=self._clock,
            on_call_unknown=self._go_alone,
            on_other_leases=self._unknown.note,
        )
        self._requests.append(request)
        self._has_grown.set()
        return request

    def _go_alone(self) -> None:
        self._alone_until = self._clock() + ASK_AGAIN_SECONDS
        log.warning("lease.renewed_alone", reason="the control plane is older: a cancel takes up to a third of a lease")
