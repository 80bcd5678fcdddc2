"""How long requests are held and how soon the next one follows, by a clock that only the test moves."""

import pytest

from corral.contract.host_protocol import MAX_RENEWAL_HOLD_MS
from workers.assignment.renewal_pace import CATCH_UP_HOLD_MS, SharedPace

LEASE_SECONDS = 30.0


class Bench:
    def __init__(self) -> None:
        self.now = 1000.0
        self.pace = SharedPace(lambda: self.now)

    def answered(self, *, after_seconds: float, renew_after_ms: int = 0, has_news: bool = False) -> float:
        """A request is sent and answered; how long is the pause behind it?"""
        sent_at, self.now = self.now, self.now + after_seconds
        return self.pace.seconds_after_answer(
            sent_at=sent_at, renew_after_ms=renew_after_ms, lease_seconds=LEASE_SECONDS, has_news=has_news
        )

    @property
    def hold_ms(self) -> int:
        return self.pace.hold_ms(LEASE_SECONDS)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_request_may_be_held_until_shortly_before_a_third_of_a_lease_and_never_longer_than_the_contract_allows(bench):
    assert bench.hold_ms == 9_000
    assert bench.pace.hold_ms(300.0) == MAX_RENEWAL_HOLD_MS


def test_a_request_that_was_held_is_followed_at_once(bench):
    assert [bench.answered(after_seconds=10.0) for _ in range(3)] == [0.0] * 3


def test_a_control_plane_that_answers_everything_at_once_is_not_asked_in_a_busy_loop(bench):
    assert [bench.answered(after_seconds=0.01) for _ in range(4)] == [0.0, 0.5, 0.5, 0.5]


def test_news_may_follow_each_other_closely(bench):
    """A control plane may ask for a pause then, for a host that did not take the news in."""
    waits = [bench.answered(after_seconds=0.01, renew_after_ms=1_500, has_news=True) for _ in range(4)]
    assert waits == [0.0] * 4


def test_a_control_plane_that_cannot_hold_says_when_to_come_again(bench):
    assert bench.answered(after_seconds=0.01, renew_after_ms=8_000) == 8.0
    assert bench.answered(after_seconds=0.01, renew_after_ms=3_600_000) == 10.0
    assert bench.answered(after_seconds=10.0, renew_after_ms=-5) == 0.0


def test_a_request_that_came_to_nothing_is_followed_by_one_that_is_not_held(bench):
    bench.pace.fail()
    assert bench.hold_ms == CATCH_UP_HOLD_MS
    assert bench.answered(after_seconds=0.01) == 0.0
    assert bench.hold_ms == 9_000


def test_leases_that_keep_joining_cannot_keep_the_others_from_their_answer(bench):
    holds = []
    for _ in range(60):
        holds.append(bench.hold_ms)
        bench.now += 0.1
        bench.pace.cut()
    assert set(holds[:50]) == {9_000}
    assert set(holds[52:]) == {CATCH_UP_HOLD_MS}
    bench.answered(after_seconds=0.01)
    assert bench.hold_ms == 9_000
