"""Renew several leases together, by one request at a time that the control plane holds open until there is news.

    keep(lease) ──► request: all leases ──► held ──► answer ──► to each lease its entry ──► next request
                          ▲                   │                        │
                          └── cut: another ───┘                        └── lost, cancelled or left out:
                              lease has come                               that lease goes on alone

Only an entry that names a lease says anything about it, and what goes wrong with one costs no other: whatever cannot
be settled together is settled by each lease alone.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog

from corral.contract.host_protocol import (
    MAX_LEASES_IN_A_RENEWAL,
    HostRenewalRequest,
    HostRenewalResponse,
    RenewedLease,
)
from corral.contract.problems import ProblemCode
from workers.assignment.joined_lease import JoinedLease, Member
from workers.assignment.renewal_pace import CATCH_UP_HOLD_MS, SharedPace, retry_seconds
from workers.clock import Clock, pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CallUnknown, CredentialRefused, LeaseLost, NotOurs, Refused, Unreachable
from workers.metrics import RENEWAL_SECONDS, RENEWALS

#: Tasks that were claimed together join within this time: one cut for all of them.
JOINING_SECONDS = 0.02

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request: for whom, and when it was sent."""

    members: Mapping[UUID, Member]
    lease_seconds: float
    sent_at: float

    def body(self, *, hold_ms: int) -> HostRenewalRequest:
        return HostRenewalRequest(leases=[member.lease.held() for member in self.members.values()], wait_ms=hold_ms)


class SharedRenewal:
    """Up to `MAX_LEASES_IN_A_RENEWAL` leases; answers reach a lease in the order of its requests."""

    def __init__(
        self,
        *,
        client: ControlClient,
        clock: Clock,
        on_call_unknown: Callable[[], None],
        on_other_leases: Callable[[list[UUID]], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._on_call_unknown = on_call_unknown
        self._on_other_leases = on_other_leases
        self._pace = SharedPace(clock)
        self._members: dict[UUID, Member] = {}
        self._is_needed = asyncio.Event()
        self._has_joined = asyncio.Event()
        self._never = asyncio.Event()

    @property
    def has_room(self) -> bool:
        return len(self._members) < MAX_LEASES_IN_A_RENEWAL

    async def keep(self, lease: JoinedLease) -> float:
        """Renew this lease with the others. Returns after how many seconds it must be renewed alone.

        Raises:
            LeaseLost: the control plane said so of this lease.
        """
        member = Member(lease, asyncio.get_running_loop().create_future())
        self._members[lease.lease_id] = member
        self._is_needed.set()
        if not lease.held().cancel_seen:
            # From now on news may come for it; a lease that has had its news can wait for the next request.
            self._has_joined.set()
        try:
            wait_seconds = await member.parted
        finally:
            self._leave(member)
        if wait_seconds is None:
            raise LeaseLost(f"lease {lease.lease_id} has ended; stop the run and claim again")
        return wait_seconds

    async def run(self) -> None:
        """Goes on until it is cancelled; no error ends it."""
        while True:
            await self._is_needed.wait()
            await pause(await self._renew_once(), until=self._never)

    async def _renew_once(self) -> float:
        """Ask once; returns after how many seconds to ask again."""
        members = dict(self._members)
        lease_seconds = min(member.lease.lease_seconds for member in members.values())
        asked = _Asked(members, lease_seconds, sent_at=self._clock())
        self._has_joined.clear()
        try:
            reply = await self._answer(asked)
            if reply is not None:
                return self._give(reply, asked)
            self._pace.cut()
        except CallUnknown:
            self._on_call_unknown()
            self._part(*members.values())
        except Exception as error:
            self._pace.fail()
            RENEWALS.labels("failed").inc(len(members))
            log.warning("lease.renewal_failed", leases=len(members), error=str(error), exc_info=_traceback(error))
            if _will_pass(error):
                return retry_seconds(lease_seconds)
            self._part(*members.values())
        return 0

    async def _answer(self, asked: _Asked) -> HostRenewalResponse | None:
        """The answer, or None if the request was cut off because another lease has joined."""
        request = asked.body(hold_ms=self._pace.hold_ms(asked.lease_seconds))
        call = asyncio.create_task(self._client.renew_all(request, lease_seconds=asked.lease_seconds))
        try:
            if request.wait_ms > CATCH_UP_HOLD_MS:
                await self._wait_unless_joined(call)
            else:
                await asyncio.wait({call})
            return call.result() if call.done() else None
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    async def _wait_unless_joined(self, call: asyncio.Task[HostRenewalResponse]) -> None:
        joined = asyncio.create_task(self._has_joined.wait())
        try:
            await asyncio.wait({call, joined}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                await asyncio.wait({call}, timeout=JOINING_SECONDS)
        finally:
            joined.cancel()

    def _give(self, reply: HostRenewalResponse, asked: _Asked) -> float:
        # An answer cannot have been held for longer than it took, whatever it says.
        took_seconds = self._clock() - asked.sent_at
        held_ms = min(reply.held_ms, round(took_seconds * 1000))
        RENEWAL_SECONDS.observe(max(0.0, took_seconds - held_ms / 1000))
        unnamed = dict(asked.members)
        has_news = False
        for entry in reply.leases:
            if member := unnamed.pop(entry.lease_id, None):
                has_news |= self._tell(member, entry, sent_at=asked.sent_at, held_ms=held_ms)
        self._part(*unnamed.values())
        self._on_other_leases(reply.other_leases)
        return self._pace.seconds_after_answer(
            sent_at=asked.sent_at,
            renew_after_ms=reply.renew_after_ms,
            lease_seconds=asked.lease_seconds,
            has_news=has_news,
        )

    def _tell(self, member: Member, entry: RenewedLease, *, sent_at: float, held_ms: int) -> bool:
        """True if the answer came early because of this lease. Each can be the cause of that only twice."""
        if entry.status == "stale":
            self._leave(member)
            member.lose()
            return True
        if member.parted.done():
            return False
        if entry.lease_remaining_ms <= 0:
            # An entry without its time extends nothing.
            self._part(member)
            return False
        has_news = member.lease.believe(entry, sent_at=sent_at, held_ms=held_ms)
        if has_news:
            self._part(member, wait_seconds=0)
        return has_news

    def _part(self, *members: Member, wait_seconds: float | None = None) -> None:
        for member in members:
            self._leave(member)
            member.part(wait_seconds=wait_seconds)

    def _leave(self, member: Member) -> None:
        if self._members.get(member.lease.lease_id) is member:
            del self._members[member.lease.lease_id]
        if not self._members:
            self._is_needed.clear()


def _will_pass(error: Exception) -> bool:
    """An outage is waited for together. Whatever only this request meets, its leases may be spared alone."""
    if isinstance(error, Refused):
        return error.problem.code is ProblemCode.NOT_READY
    return isinstance(error, Unreachable | CredentialRefused) and not isinstance(error, NotOurs)


def _traceback(error: Exception) -> Exception | None:
    return None if isinstance(error, Unreachable | CredentialRefused) else error
