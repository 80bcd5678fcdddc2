"""The claim that goes with the report of a run: the device that it frees gets its next task with the answer."""

from collections.abc import Callable
from uuid import UUID

from corral.contract.host_protocol import ClaimReply, ClaimRequest
from corral.contract.identifiers import uuid7
from workers.assignment.execution import ClaimedAssignment
from workers.clock import Clock
from workers.metrics import ASSIGNMENTS


class NextClaim:
    """One for each run. Every repeat of the report asks under the same id, and so for the same answer.

    `may_claim` says whether the host wants work for this device now. Once it was asked for, what was given is asked
    for to the end: a reply may have been lost that gave something.
    """

    def __init__(self, serial: str, *, incarnation: UUID, may_claim: Callable[[str], bool], clock: Clock) -> None:
        #: What the answers brought; it is to be run, whatever has happened to the host meanwhile.
        self.claimed: list[ClaimedAssignment] = []
        self._serial = serial
        self._incarnation = incarnation
        self._may_claim = may_claim
        self._clock = clock
        self._claim_id = uuid7()
        self._was_asked = False
        self._sent_at = 0.0

    def request(self) -> ClaimRequest | None:
        """What to send with the report now, if anything. The lease that it may bring is counted from this call on."""
        may_claim = self._may_claim(self._serial)
        if not may_claim and not self._was_asked:
            return None
        self._was_asked = True
        self._sent_at = self._clock()
        return ClaimRequest(
            claim_id=self._claim_id,
            incarnation=self._incarnation,
            free_devices=[self._serial] if may_claim else [],
            wait_ms=0,
        )

    def take(self, reply: ClaimReply) -> None:
        """The answer to the last request has come."""
        self.claimed = ClaimedAssignment.from_reply(reply, sent_at=self._sent_at)
        ASSIGNMENTS.labels("report").inc(len(self.claimed))
