"""Redis clients with deadlines, and the addresses that are understood."""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

_SCHEMES: Mapping[str, str] = MappingProxyType(
    {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
)
#: A message that helps only when it is quick is not worth more of a request's time than this.
SEND_LIMIT_SECONDS = 0.3
#: A listener may wait a little longer for its connection: nobody waits for it.
LISTEN_CONNECT_LIMIT_SECONDS = 2.0
#: How often a quiet listener asks whether its connection still lives.
LISTEN_HEALTH_SECONDS = 5


class UnusableRedisUrl(ValueError):
    """Give the address of one Redis or Valkey server, as `redis://:password@host:6379/0`."""


def redis_url(url: str) -> str:
    """The same address in the words that every client here understands (`valkey://` is `redis://` to them).

    Raises:
        UnusableRedisUrl: it names no single server. A cluster is refused by name, because some clients take its
            address for localhost without a word.
    """
    scheme, separator, rest = url.partition("://")
    if "cluster" in scheme or "sentinel" in scheme:
        raise UnusableRedisUrl(f"{scheme}:// is not supported: Corral needs one Redis or Valkey server")
    if not separator or scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        # The address itself stays out of the message: it may carry a password.
        raise UnusableRedisUrl(f"a Redis address begins with one of {known} and this one begins with {scheme[:20]!r}")
    _check_server(rest)
    return f"{_SCHEMES[scheme]}://{rest}"


def sending_client(url: str, *, limit_seconds: float = SEND_LIMIT_SECONDS) -> redis.Redis:
    """A client for requests that cannot wait. Safe to share between threads, made in the process that uses it."""
    return redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - redis-py leaves its kwargs untyped
        redis_url(url),
        socket_timeout=limit_seconds,
        socket_connect_timeout=limit_seconds,
        socket_keepalive=True,
        # Once more, because the first use of a pooled connection finds out that the server was restarted. A server
        # that is silent is not asked again: that would double the wait.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )


def listening_client(url: str) -> redis.asyncio.Redis:
    """An asyncio client for a subscription: no limit on silence, but a dead connection is noticed."""
    return redis.asyncio.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - as above
        redis_url(url),
        socket_timeout=None,
        socket_connect_timeout=LISTEN_CONNECT_LIMIT_SECONDS,
        socket_keepalive=True,
        health_check_interval=LISTEN_HEALTH_SECONDS,
    )


def _check_server(rest: str) -> None:
    shape = UnusableRedisUrl("a Redis address names one host and, if need be, a port: redis://:password@host:6379/0")
    try:
        parts = urlsplit(f"redis://{rest}")
        is_complete = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise shape from None
    if not is_complete or "," in parts.netloc.rpartition("@")[2]:
        raise shape
    database = parts.path.strip("/")
    if database and not database.isdigit():
        raise UnusableRedisUrl(f"the path of a Redis address is the number of a database, not {database[:20]!r}")
