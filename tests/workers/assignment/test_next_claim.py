"""What a report asks for besides, and from when on the lease that it brings is counted."""

from corral.contract.host_protocol import Assignment, ClaimReply
from corral.contract.identifiers import uuid7
from tests.workers.host.far_side import Lease, assignment
from workers.assignment.next_claim import NextClaim


def test_nothing_is_asked_for_a_device_that_may_not_be_claimed_for() -> None:
    assert NextClaim("A", incarnation=uuid7(), may_claim=lambda _: False, clock=lambda: 0.0).request() is None


def test_a_lease_counts_from_the_repeat_that_brought_it_and_a_former_request_is_repeated_to_the_end() -> None:
    now, willing = [100.0], [True]
    incarnation = uuid7()
    claim = NextClaim("A", incarnation=incarnation, may_claim=lambda _: willing[0], clock=lambda: now[0])
    first = claim.request()
    now[0], willing[0] = 107.0, False
    second = claim.request()
    assert first is not None
    assert second is not None
    assert (first.free_devices, second.free_devices) == (["A"], [])
    assert (first.claim_id, first.incarnation) == (second.claim_id, incarnation)
    given = Assignment.model_validate(assignment(Lease(str(uuid7()), str(uuid7()), "A", expires_at=0), 30.0))
    claim.take(ClaimReply(assignment=given, held_ms=0))
    assert [(one.assignment, one.sent_at) for one in claim.claimed] == [(given, 107.0)]
