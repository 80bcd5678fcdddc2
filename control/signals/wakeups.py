"""Tells every API process what has happened, after it was committed."""

from collections.abc import Iterable
from uuid import UUID

from control.signals.breaker import Breaker
from control.signals.client import SEND_LIMIT_SECONDS, sending_client
from control.signals.lease_cache import LeaseCache
from control.signals.words import CHANNEL, LeaseOf, token_words, work_words


class RedisWakeups:
    """Publishes wake-ups, and keeps the records of leases in step. Whatever is lost is found by the next look."""

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        self._redis = sending_client(url)
        self._breaker = Breaker("wakeups")
        self.cache = LeaseCache(url, lease_seconds=lease_seconds, limit_seconds=SEND_LIMIT_SECONDS)

    def wake_hosts(self, host_ids: Iterable[UUID]) -> None:
        """Tell whoever listens; never raises, and takes less than a second when Redis is silent."""
        self._say(work_words(host_ids))

    def tell_cancels(self, leases: Iterable[LeaseOf]) -> bool:
        """Somebody wants these leases' tasks stopped. False where Redis did not take it: say it again."""
        cancelled = list(leases)
        return not cancelled or self.cache.mark(cancelled)

    def tell_leases_ended(self, leases: Iterable[LeaseOf], *, holder_knows: bool = False) -> None:
        """These leases are over; `holder_knows` where a host has ended its own, and need not be woken for it."""
        ended = list(leases)
        if ended:
            self.cache.end(ended, holder_knows=holder_knows)

    def drop_tokens(self, token_ids: Iterable[str]) -> None:
        """What was verified for these is void."""
        self._say(token_words(token_ids))

    def _say(self, message: str) -> None:
        if message:
            self._breaker.attempt(lambda: self._publish(message), otherwise=None)

    def _publish(self, message: str) -> None:
        self._redis.publish(CHANNEL, message)  # pyright: ignore[reportUnknownMemberType] - kwargs without types

    def close(self) -> None:
        self._redis.close()
        self.cache.close()
