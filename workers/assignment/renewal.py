"""Keep one lease alive, and hear from it whether the task was cancelled."""

import asyncio

import structlog

from corral.contract.host_protocol import Assignment, LeaseRenewalRequest, LeaseRenewalResponse
from corral.contract.tasks import Progress
from workers.assignment.backoff import jittered
from workers.assignment.guard import LeaseGuard, StopReason
from workers.clock import Clock, pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, LeaseLost, Unreachable

#: Parts of a lease. Two renewals in a row may fail before a third is too late.
LONGEST_WAIT_SHARE = 1 / 3
RETRY_SHARE = 1 / 12
#: No answer can make a host ask more often than this.
SHORTEST_WAIT_SHARE = 1 / 60

log = structlog.get_logger()


class LeaseRenewal:
    """Renews at once and then again and again; it shares no lock, thread or connection with the work.

    It goes on after the run has stopped, until it is cancelled or the lease is lost: the lease must live until the
    report is acknowledged.
    """

    def __init__(self, assignment: Assignment, guard: LeaseGuard, *, client: ControlClient, clock: Clock) -> None:
        self.progress = Progress()
        #: Set before the report is sent: the lease ends with it, and a renewal on its way may hear of that.
        self.is_reporting = False
        #: The first renewal was answered, or failed.
        self.first_settled = asyncio.Event()
        #: The control plane was told that its cancel was seen, or could not be told.
        self.cancel_told = asyncio.Event()
        self._guard = guard
        self._client = client
        self._clock = clock
        self._lease_seconds = assignment.lease_seconds
        self._cancel_seen = False
        self._never = asyncio.Event()
        self._log = log.bind(task_id=str(assignment.task_id), lease_id=str(assignment.lease_id))

    def see_cancel(self) -> None:
        """The control plane said that the task is to be cancelled: stop the run, and say so in the next renewal."""
        if not self._cancel_seen:
            self._cancel_seen = True
            self._guard.stop(StopReason.CANCELLED)
            self._log.info("cancel.seen")

    async def run(self) -> None:
        """Renew until the lease is lost; cancel the task that runs this to end it before."""
        try:
            while True:
                wait_seconds = await self._renew_once()
                self.first_settled.set()
                await pause(wait_seconds, until=self._never)
        except LeaseLost as lost:
            self._guard.lose(StopReason.LEASE_REJECTED)
            if not self.is_reporting:
                self._log.warning("lease.lost", detail=str(lost))
        finally:
            self.first_settled.set()
            self.cancel_told.set()

    async def _renew_once(self) -> float:
        """Ask once; returns after how many seconds to ask again."""
        tells_cancel = self._cancel_seen
        request = LeaseRenewalRequest(progress=self.progress, cancel_seen=tells_cancel)
        sent_at = self._clock()
        try:
            reply = await self._client.renew(self._guard.lease_id, request, lease_seconds=self._lease_seconds)
        except (Unreachable, CredentialRefused) as error:
            self._log.warning("lease.renewal_failed", error=str(error))
            wait_seconds = jittered(self._lease_seconds * RETRY_SHARE)
        except LeaseLost:
            raise
        except Exception:  # noqa: BLE001 - whatever it was, it must not cut off a run in the middle of an action
            self._log.exception("lease.renewal_failed")
            wait_seconds = jittered(self._lease_seconds * RETRY_SHARE)
        else:
            wait_seconds = self._believe(reply, sent_at=sent_at)
        if tells_cancel:
            self.cancel_told.set()
        return wait_seconds if tells_cancel or not self._cancel_seen else 0

    def _believe(self, reply: LeaseRenewalResponse, *, sent_at: float) -> float:
        self._guard.extend(sent_at=sent_at, held_ms=reply.held_ms, remaining_ms=reply.lease_remaining_ms)
        self._log.debug("lease.renewed", remaining_ms=reply.lease_remaining_ms)
        if reply.cancel_requested:
            self.see_cancel()
        longest_seconds = self._lease_seconds * LONGEST_WAIT_SHARE
        shortest_seconds = self._lease_seconds * SHORTEST_WAIT_SHARE
        return min(max(reply.renew_after_ms / 1000, shortest_seconds), longest_seconds)
