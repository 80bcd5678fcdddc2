"""Ask for work: one long poll for the whole host, which names the devices that are free.

A poll whose reply is lost is repeated under the same `claim_id`, and gets the same answer; so is a poll that was cut
off because the free devices have changed. Another `claim_id` is only taken after a reply that could be decoded.
"""

import asyncio
from uuid import UUID

import structlog

from corral.contract.host_protocol import MAX_ASSIGNMENTS_IN_A_CLAIM, MAX_CLAIM_HOLD_MS, ClaimReply, ClaimRequest
from corral.contract.identifiers import uuid7
from corral.failpoints import failpoint
from workers.assignment.backoff import backoff_seconds
from workers.assignment.execution import ClaimedAssignment
from workers.clock import Clock, pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, StaleIncarnation, Unreachable
from workers.host.fleet import Fleet, ready_serials
from workers.host.heartbeat import HeartbeatLoop
from workers.host.life import HostLife
from workers.host.slots import Slots
from workers.metrics import ASSIGNMENTS, CLAIMS

#: While a device is busy the list will change soon; a poll that was cut off must not be held long for nobody.
BUSY_HOLD_MS = 5_000
LONGEST_RETRY_SECONDS = 5.0
#: Part of a lease. A drain waits no longer to hear of a last claim: what was given and not heard of ends by itself.
DRAIN_PATIENCE_SHARE = 1 / 3

log = structlog.get_logger()


class ClaimLoop:
    """Ends by itself when the host drains, after the last claim has got its answer."""

    def __init__(
        self,
        *,
        client: ControlClient,
        fleet: Fleet,
        slots: Slots,
        heartbeat: HeartbeatLoop,
        life: HostLife,
        incarnation: UUID,
        clock: Clock,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._slots = slots
        self._heartbeat = heartbeat
        self._life = life
        self._incarnation = incarnation
        self._clock = clock
        self._awake = asyncio.Event()
        self._claim_id = uuid7()
        #: A request under this claim_id may have been answered by a claim that has not reached us.
        self._is_open = False
        self._drains_since: float | None = None

    def wake(self) -> None:
        """Devices, slots or the wish to work have changed."""
        self._awake.set()

    async def run(self) -> None:
        retries = backoff_seconds(longest_seconds=LONGEST_RETRY_SECONDS)
        while not self._life.stopping.is_set():
            self._awake.clear()
            offered = self._offered()
            if not offered and not self._is_open:
                if self._life.draining.is_set():
                    return None
                await self._awake.wait()
                continue
            try:
                await self._poll(offered)
            except StaleIncarnation as stale:
                log.error("host.replaced", detail=str(stale))  # noqa: TRY400 - an answer, not a crash
                return self._life.end_replaced()
            except (Unreachable, CredentialRefused) as error:
                CLAIMS.labels("failed").inc()
                log.warning("claim.failed", claim_id=str(self._claim_id), error=str(error))
                if self._has_waited_enough():
                    return None
                await pause(next(retries), until=self._life.stopping)
            else:
                retries = backoff_seconds(longest_seconds=LONGEST_RETRY_SECONDS)
        return None

    def _has_waited_enough(self) -> bool:
        if not self._life.draining.is_set():
            return False
        now = self._clock()
        self._drains_since = self._drains_since or now
        return now - self._drains_since > self._heartbeat.lease_seconds * DRAIN_PATIENCE_SHARE

    def may_claim(self, serial: str) -> bool:
        """Whether a device whose run has settled can be given its next task with the answer to the report."""
        return self._takes_work and serial in ready_serials(self._fleet)

    @property
    def _takes_work(self) -> bool:
        is_draining = self._life.draining.is_set() or self._heartbeat.operator_drains
        return self._heartbeat.acknowledged.is_set() and not is_draining

    def _offered(self) -> frozenset[str]:
        return ready_serials(self._fleet) - self._slots.busy_serials if self._takes_work else frozenset()

    async def _poll(self, offered: frozenset[str]) -> None:
        """One request; returns without an answer if what is offered changes while it is held."""
        request = ClaimRequest(
            claim_id=self._claim_id,
            incarnation=self._incarnation,
            free_devices=sorted(offered),
            wait_ms=self._hold_ms(offered),
            max_assignments=min(max(len(offered), 1), MAX_ASSIGNMENTS_IN_A_CLAIM),
        )
        self._is_open = True
        sent_at = self._clock()
        held = asyncio.create_task(self._client.claim(request, lease_seconds=self._heartbeat.lease_seconds))
        try:
            await self._wait_while_unchanged(held, offered)
            if held.done():
                self._accept(held.result(), sent_at=sent_at)
        finally:
            held.cancel()
            await asyncio.gather(held, return_exceptions=True)

    def _hold_ms(self, offered: frozenset[str]) -> int:
        if not offered:
            return 0
        return BUSY_HOLD_MS if self._slots.busy_serials else MAX_CLAIM_HOLD_MS

    async def _wait_while_unchanged(self, held: asyncio.Task[ClaimReply], offered: frozenset[str]) -> None:
        while not held.done() and self._offered() == offered and not self._life.stopping.is_set():
            self._awake.clear()
            awake = asyncio.create_task(self._awake.wait())
            await asyncio.wait({held, awake}, return_when=asyncio.FIRST_COMPLETED)
            awake.cancel()

    def _accept(self, reply: ClaimReply, *, sent_at: float) -> None:
        self._claim_id = uuid7()
        self._is_open = False
        claimed = ClaimedAssignment.from_reply(reply, sent_at=sent_at)
        CLAIMS.labels("given" if claimed else "empty").inc()
        ASSIGNMENTS.labels("poll").inc(len(claimed))
        if claimed:
            failpoint("claim.received")
        for one in claimed:
            self._slots.take(one)
