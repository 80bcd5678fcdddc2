"""When the next renewal is sent, and how long the control plane may hold it. Shares are parts of a lease."""

from corral.contract.host_protocol import MAX_RENEWAL_HOLD_MS
from workers.assignment.backoff import jittered
from workers.clock import Clock
from workers.control_client.client import ANSWER_SHARE

#: Two renewals in a row may fail before a third is too late.
LONGEST_WAIT_SHARE = 1 / 3
RETRY_SHARE = 1 / 12
#: Just short of a third, where the control plane writes: what it then writes is the progress of a moment ago.
HOLD_SHARE = 3 / 10
#: No answer can make a host ask more often than this.
SHORTEST_WAIT_SHARE = 1 / 60
#: Asks for an answer now, in the way of held requests: it says whether the next one will be held.
CATCH_UP_HOLD_MS = 1


def retry_seconds(lease_seconds: float) -> float:
    """The pause after a request that came to nothing."""
    return jittered(lease_seconds * RETRY_SHARE)


class SharedPace:
    """The pace of held requests, of which the next may follow at once.

    A request that fails, and one of many that were cut off, is followed by one that is not held: leases that have
    waited for an answer must not be held up again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._must_catch_up = False
        self._was_answered_at_once = False
        #: When the first request after the last answer was cut off.
        self._cut_since: float | None = None

    def hold_ms(self, lease_seconds: float) -> int:
        """How long the next request may be held."""
        if self._cut_since is not None and self._clock() - self._cut_since >= lease_seconds * ANSWER_SHARE:
            self._must_catch_up = True
        if self._must_catch_up:
            return CATCH_UP_HOLD_MS
        return min(round(lease_seconds * HOLD_SHARE * 1000), MAX_RENEWAL_HOLD_MS)

    def cut(self) -> None:
        """The request was given up for one that asks for more leases."""
        if self._cut_since is None:
            self._cut_since = self._clock()

    def fail(self) -> None:
        """The request came to nothing."""
        self._must_catch_up = True

    def seconds_after_answer(
        self, *, sent_at: float, renew_after_ms: int, lease_seconds: float, has_news: bool
    ) -> float:
        """How long to wait after an answer.

        `has_news`: it had to come early, and no other can come because of the same. More news may have come by now, so
        there is no wait then, whatever the answer says.
        """
        was_catch_up, self._must_catch_up, self._cut_since = self._must_catch_up, False, None
        shortest_seconds = lease_seconds * SHORTEST_WAIT_SHARE
        is_at_once = not has_news and not was_catch_up and self._clock() - sent_at < shortest_seconds
        # One may come at once by chance. Two in a row are a control plane that does not hold.
        least_seconds = shortest_seconds if is_at_once and self._was_answered_at_once else 0.0
        self._was_answered_at_once = is_at_once
        if has_news:
            return 0
        return min(max(renew_after_ms / 1000, least_seconds), lease_seconds * LONGEST_WAIT_SHARE)
