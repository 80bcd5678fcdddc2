"""Tells every API process which hosts should look for work again."""

from collections.abc import Iterable
from uuid import UUID

from control.signals.breaker import Breaker
from control.signals.client import sending_client

#: What is published here is host ids, separated by spaces.
HOSTS_CHANNEL = "corral:hosts"


class RedisWakeups:
    """Publishes wake-ups. One that is lost costs a claim the rest of its poll, nothing else."""

    def __init__(self, url: str) -> None:
        self._redis = sending_client(url)
        self._breaker = Breaker("wakeups")

    def wake_hosts(self, host_ids: Iterable[UUID]) -> None:
        """Tell whoever listens; never raises, and takes less than a second when Redis is silent."""
        message = " ".join(sorted({str(host_id) for host_id in host_ids}))
        if message:
            self._breaker.attempt(lambda: self._publish(message), otherwise=None)

    def _publish(self, message: str) -> None:
        self._redis.publish(HOSTS_CHANNEL, message)  # pyright: ignore[reportUnknownMemberType] - kwargs without types

    def close(self) -> None:
        self._redis.close()
