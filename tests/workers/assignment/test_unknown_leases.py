"""Leases that only the control plane believes this host to have."""

import uuid

from structlog.testing import capture_logs

from workers.assignment.unknown_leases import WORTH_A_WORD_SECONDS, UnknownLeases

LEASE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


def test_a_lease_that_stays_unknown_is_told_of_once():
    now = 1000.0
    unknown = UnknownLeases(lambda: now)
    with capture_logs() as lines:
        unknown.note([LEASE])
        now += WORTH_A_WORD_SECONDS
        for _ in range(3):
            unknown.note([LEASE, OTHER])
    assert [(line["event"], line["lease_id"]) for line in lines] == [("lease.unknown", str(LEASE))]


def test_a_lease_whose_claim_is_still_on_its_way_or_whose_report_just_was_is_not_told_of():
    now = 1000.0
    unknown = UnknownLeases(lambda: now)
    with capture_logs() as lines:
        unknown.note([LEASE])
        unknown.know(LEASE)
        unknown.note([OTHER])
        now += WORTH_A_WORD_SECONDS
        unknown.note([LEASE])
        unknown.note([OTHER])
    assert lines == []
