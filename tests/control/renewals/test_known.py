"""What a process vouches for, and for how long."""

from typing import Any

from control.renewals.known import REMEMBERED_NEWS_SECONDS, KnownLeases

LEASE_SECONDS = 30.0


class Hearing:
    """A process with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.is_connected = True
        self.known = KnownLeases(
            lease_seconds=LEASE_SECONDS, is_connected=lambda: self.is_connected, clock=lambda: self.now
        )

    def renewed(self, lease_id: str = "lease", *, at: float | None = None, is_cancelled: bool = False) -> None:
        renewed_at = self.now if at is None else at
        self.known.remember([(lease_id, "host", is_cancelled)], renewed_at=renewed_at, expires_at="then")

    def vouch(self, lease_id: str = "lease", *, host_id: str = "host", cancel_seen: bool = False) -> Any:
        return self.known.vouch(lease_id, host_id, cancel_seen=cancel_seen)


def test_a_lease_is_vouched_for_until_a_third_of_it_has_passed_and_never_longer() -> None:
    process = Hearing()
    assert process.vouch() is None
    assert not process.known.needs_postgres("lease")
    process.renewed()
    process.now += 4
    vouched = process.vouch()
    assert (vouched.remaining_seconds, vouched.due_seconds, vouched.expires_at) == (26.0, 6.0, "then")
    process.now += 5.99
    assert process.vouch().due_seconds > 0
    process.now += 0.01
    assert process.vouch() is None


def test_the_time_is_counted_from_before_the_statement_was_sent() -> None:
    process = Hearing()
    process.renewed(at=process.now - 9)
    assert process.vouch().remaining_seconds == 21.0
    process.renewed("slow", at=process.now - 11)
    assert process.vouch("slow") is None


def test_news_ends_what_was_known_and_a_later_renewal_begins_anew() -> None:
    process = Hearing()
    process.renewed()
    process.known.forget("lease")
    assert process.vouch() is None
    assert process.known.needs_postgres("lease")
    process.now += 0.001
    process.renewed()
    assert process.vouch() is not None


def test_news_that_came_while_the_statement_was_under_way_wins() -> None:
    process = Hearing()
    sent_at = process.now
    process.now += 0.01
    process.known.forget("lease")
    process.now += 0.01
    process.renewed(at=sent_at)
    assert process.vouch() is None
    assert process.known.needs_postgres("lease")


def test_news_of_the_very_instant_wins_too() -> None:
    process = Hearing()
    process.known.forget("lease")
    process.renewed()
    assert process.vouch() is None


def test_news_of_another_lease_is_none_of_this_one() -> None:
    process = Hearing()
    process.renewed()
    process.known.forget("another")
    assert process.vouch() is not None


def test_a_gap_forgets_everything_and_whatever_was_asked_before_it() -> None:
    process = Hearing()
    process.renewed("one")
    sent_at = process.now
    process.now += 0.01
    process.known.forget_all()
    process.renewed("other", at=sent_at)
    assert process.vouch("one") is None
    assert process.vouch("other") is None
    process.now += 0.01
    process.renewed("other")
    assert process.vouch("other") is not None


def test_nothing_is_vouched_for_while_nothing_can_be_heard() -> None:
    process = Hearing()
    process.renewed()
    process.is_connected = False
    assert process.vouch() is None
    assert process.known.needs_postgres("lease")


def test_a_cancel_that_its_host_has_seen_is_no_news() -> None:
    process = Hearing()
    process.renewed(is_cancelled=True)
    assert process.vouch(cancel_seen=False) is None
    assert process.known.needs_postgres("lease")
    assert process.vouch(cancel_seen=True).is_cancelled


def test_of_a_lease_that_has_ended_nothing_is_known() -> None:
    process = Hearing()
    answered = [("ended", "host", None), ("live", "host", False)]
    process.known.remember(answered, renewed_at=process.now, expires_at="then")
    assert process.vouch("ended") is None
    assert process.vouch("live") is not None


def test_the_lease_of_another_host_is_not_vouched_for() -> None:
    process = Hearing()
    process.renewed()
    assert process.vouch(host_id="another host") is None
    assert process.known.needs_postgres("lease")


def test_what_is_kept_is_what_lives() -> None:
    process = Hearing()
    for number in range(1_000):
        process.renewed(f"lease {number}")
        process.known.forget(f"ended {number}")
        process.now += 1
    assert len(process.known._known) <= LEASE_SECONDS + 1
    assert len(process.known._news_at) <= REMEMBERED_NEWS_SECONDS + 1


def test_a_lease_that_is_renewed_again_and_again_is_kept_once() -> None:
    process = Hearing()
    process.renewed("other")
    for _ in range(100):
        process.now += 1
        process.renewed()
    assert list(process.known._known) == ["lease"]
