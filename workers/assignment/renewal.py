"""Keep one lease alive, and hear from it whether the task was cancelled."""

import asyncio

import structlog

from corral.contract.host_protocol import (
    Assignment,
    HeldLease,
    LeaseRenewalRequest,
    LeaseRenewalResponse,
    RenewedLease,
)
from corral.contract.tasks import Progress
from corral.traces.spans import NO_SPAN, Span
from workers.assignment.guard import LeaseGuard, StopReason
from workers.assignment.host_renewal import HostRenewal
from workers.assignment.renewal_pace import LONGEST_WAIT_SHARE, SHORTEST_WAIT_SHARE, retry_seconds
from workers.clock import Clock, pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, LeaseLost, Unreachable
from workers.metrics import RENEWAL_SECONDS, RENEWALS

log = structlog.get_logger()


class LeaseRenewal:
    """Renews at once, and from then on together with the other leases of the host.

        alone ── renewed ──► together ──► … ──► lost
          ▲                      │
          └── a cancel to tell, or the request that it shared came to nothing

    It shares no lock, thread or connection with the work. It goes on after the run has stopped, until it is cancelled
    or the lease is lost: the lease must live until the report is acknowledged.
    """

    def __init__(
        self,
        assignment: Assignment,
        guard: LeaseGuard,
        *,
        client: ControlClient,
        together: HostRenewal,
        clock: Clock,
        attempt: Span = NO_SPAN,
    ) -> None:
        self.lease_id = assignment.lease_id
        self.lease_seconds = assignment.lease_seconds
        self.progress = Progress()
        #: Set before the report is sent: the lease ends with it, and a renewal on its way may hear of that.
        self.is_reporting = False
        #: The first renewal was answered, or failed.
        self.first_settled = asyncio.Event()
        #: The control plane was told that its cancel was seen, or could not be told.
        self.cancel_told = asyncio.Event()
        self._guard = guard
        self._client = client
        self._together = together
        self._attempt = attempt
        self._clock = clock
        #: On the clock of this host; None while no cancel is known.
        self.cancel_seen_at: float | None = None
        self._never = asyncio.Event()
        self._log = log.bind(task_id=str(assignment.task_id), lease_id=str(assignment.lease_id))
        together.know(assignment.lease_id)

    def see_cancel(self) -> None:
        """The control plane said that the task is to be cancelled: stop the run, and say so in the next renewal."""
        if self.cancel_seen_at is None:
            self.cancel_seen_at = self._clock()
            self._guard.stop(StopReason.CANCELLED)
            self._attempt.note("cancel seen")
            self._log.info("cancel.seen")

    @property
    def _has_seen_cancel(self) -> bool:
        return self.cancel_seen_at is not None

    def held(self) -> HeldLease:
        """What is said of this lease in a request that it shares with others."""
        return HeldLease(lease_id=self.lease_id, progress=self.progress, cancel_seen=self._has_seen_cancel)

    def believe(self, entry: RenewedLease | LeaseRenewalResponse, *, sent_at: float, held_ms: int) -> bool:
        """Trust the lease and obey the cancel. True if that is news, which the control plane must be told."""
        had_seen_cancel = self._has_seen_cancel
        self._guard.extend(sent_at=sent_at, held_ms=held_ms, remaining_ms=entry.lease_remaining_ms)
        RENEWALS.labels("ok").inc()
        self._log.debug("lease.renewed", remaining_ms=entry.lease_remaining_ms)
        if entry.cancel_requested:
            self.see_cancel()
        return self._has_seen_cancel and not had_seen_cancel

    async def run(self) -> None:
        """Renew until the lease is lost; cancel the task that runs this to end it before."""
        try:
            while True:
                await pause(await self._renew(), until=self._never)
        except LeaseLost as lost:
            self._guard.lose(StopReason.LEASE_REJECTED)
            if not self.is_reporting:
                RENEWALS.labels("stale").inc()
                self._log.warning("lease.lost", detail=str(lost))
        finally:
            self.first_settled.set()
            self.cancel_told.set()

    async def _renew(self) -> float:
        """Renew alone and then together, as long as that goes; returns after how many seconds to do so again."""
        tells_cancel = self._has_seen_cancel
        wait_seconds = await self._renew_alone()
        self.first_settled.set()
        if tells_cancel:
            self.cancel_told.set()
        elif self._has_seen_cancel:
            return 0
        if wait_seconds is None:
            return retry_seconds(self.lease_seconds)
        return await self._together.keep(self) if self._together.is_offered else wait_seconds

    async def _renew_alone(self) -> float | None:
        """Ask once; returns after how many seconds the control plane wants to be asked again, if it answers."""
        request = LeaseRenewalRequest(progress=self.progress, cancel_seen=self._has_seen_cancel)
        sent_at = self._clock()
        try:
            reply = await self._client.renew(self.lease_id, request, lease_seconds=self.lease_seconds)
        except (Unreachable, CredentialRefused) as error:
            RENEWALS.labels("failed").inc()
            self._log.warning("lease.renewal_failed", error=str(error))
            return None
        except LeaseLost:
            raise
        except Exception:  # noqa: BLE001 - whatever it was, it must not cut off a run in the middle of an action
            RENEWALS.labels("failed").inc()
            self._log.exception("lease.renewal_failed")
            return None
        RENEWAL_SECONDS.observe(max(0.0, self._clock() - sent_at - reply.held_ms / 1000))
        self.believe(reply, sent_at=sent_at, held_ms=reply.held_ms)
        shortest_seconds = self.lease_seconds * SHORTEST_WAIT_SHARE
        return min(max(reply.renew_after_ms / 1000, shortest_seconds), self.lease_seconds * LONGEST_WAIT_SHARE)
