"""What Redis remembers of leases, so that not every question about one is asked of Postgres. It never extends a lease.

    renewal committed ── fill ──►                 ┌─ "live <expires_at>"    the durable lease lasts as long as the key
    cancel committed ─── mark ──► <host>:<lease> ─── "cancel <expires_at>"  the same, and somebody wants it stopped
    finished, reaped ─── end ───►                 └─ "ended"                the tombstone

The three may arrive in any order, late, or never. So a fill is a merge: a cancel stays, an expiry only grows, and a
tombstone wins. The time that is left is the key's own, counted by one clock; it was set from before the statement that
renewed the lease, less what the fill was under way (a server that was frozen works off what lay in its socket), so it
never says too much. A record that is missing or says too little costs a look into Postgres.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from control.signals.breaker import Breaker
from control.signals.client import sending_client
from control.signals.server_clock import ServerClock
from control.signals.words import CHANNEL, LeaseOf, lease_words
from corral.failpoints import failpoint

#: Host and lease as text, which is how the hot path knows them.
LeaseName: TypeAlias = tuple[str, str]

#: A hanging Redis must not cost a lease: nobody waits for it longer than this, and after a failure nobody asks for a
#: while.
CACHE_LIMIT_SECONDS = 0.03
#: A tombstone outlives every fill that could still be on its way.
TOMBSTONE_MS = 120_000

_FILL = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ttl = tonumber(ARGV[1]) - math.max(0, now - tonumber(ARGV[3]))
if ttl <= 0 then return now end
for i, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  if held ~= 'ended' then
    local word = ARGV[i + 3] == '1' and 'cancel' or 'live'
    local left = 0
    if held then
      if string.sub(held, 1, 6) == 'cancel' then word = 'cancel' end
      if #held > 7 then left = redis.call('PTTL', key) end
    end
    if left < ttl then
      redis.call('SET', key, word .. ' ' .. ARGV[2], 'PX', ttl)
    elseif word == 'cancel' and string.sub(held, 1, 6) ~= 'cancel' then
      redis.call('SET', key, 'cancel' .. string.sub(held, 5), 'KEEPTTL')
    end
  end
end
return now
"""
#: A mark that meets no record stands alone, without an expiry, until a fill joins it.
_MARK = """
for _, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  if not held then
    redis.call('SET', key, 'cancel ', 'PX', ARGV[1])
  elseif string.sub(held, 1, 4) == 'live' then
    redis.call('SET', key, 'cancel' .. string.sub(held, 5), 'KEEPTTL')
  end
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
"""
_END = """
for _, key in ipairs(KEYS) do redis.call('SET', key, 'ended', 'PX', ARGV[1]) end
if ARGV[3] ~= '' then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
"""
_LOOK = """
local found = {}
for _, key in ipairs(KEYS) do
  found[#found + 1] = redis.call('GET', key)
  found[#found + 1] = redis.call('PTTL', key)
end
return found
"""


@dataclass(frozen=True, slots=True)
class CachedLease:
    """The durable lease lasts for `remaining_ms` from now; `expires_at` is Postgres' word for the same, for people."""

    remaining_ms: int
    expires_at: str
    is_cancelled: bool


class LeaseCache:
    """The records of leases. Safe to share between threads, made in the process that uses it; it never raises.

    Whoever marks and ends may give it a longer limit: a mark that took its time is better than one that a job repeats.
    """

    def __init__(self, url: str, *, lease_seconds: float, limit_seconds: float = CACHE_LIMIT_SECONDS) -> None:
        self._redis = sending_client(url, limit_seconds=limit_seconds)
        self._breaker = Breaker("lease cache")
        self._clock = ServerClock()
        self._lease_ms = round(lease_seconds * 1000)
        self._fill = self._redis.register_script(_FILL)
        self._look = self._redis.register_script(_LOOK)
        self._mark = self._redis.register_script(_MARK)
        self._end = self._redis.register_script(_END)

    @property
    def is_resting(self) -> bool:
        """Whether Redis failed a moment ago, so that nobody asks it now."""
        return self._breaker.is_resting

    def fill(self, leases: Mapping[LeaseName, bool], *, remaining_ms: int, expires_at: str) -> None:
        """Remember leases that were renewed together, each with whether its cancel is pending."""
        if leases and remaining_ms > 0:
            keys = [_key(*lease) for lease in leases]
            marks = ["1" if is_cancelled else "" for is_cancelled in leases.values()]
            self._attempt(lambda: self._fill_now(keys, remaining_ms, expires_at, marks))

    def look(self, leases: Sequence[LeaseName]) -> list[CachedLease | None]:
        """What is known of each lease, in their order; None for what Postgres has to be asked about."""
        keys = [_key(*lease) for lease in leases]
        found: list[Any] = self._breaker.attempt(lambda: self._look(keys=keys), otherwise=[])
        if not found:
            return [None] * len(keys)
        return [self._read(found[place], found[place + 1]) for place in range(0, len(found), 2)]

    def mark(self, leases: Sequence[LeaseOf]) -> bool:
        """Note that somebody wants these stopped, and tell all processes; False where Redis did not take it."""
        return self._attempt(lambda: self._mark_now(leases))

    def end(self, leases: Iterable[LeaseOf], *, holder_knows: bool) -> None:
        """Note that these leases are over, and tell all processes unless their holder has ended them itself."""
        over = list(leases)
        arguments = [TOMBSTONE_MS, CHANNEL, "" if holder_knows else lease_words(over)]
        self._attempt(lambda: self._end(keys=[_key(*lease) for lease in over], args=arguments))

    def close(self) -> None:
        self._redis.close()

    def _attempt(self, action: Any) -> bool:
        def done() -> bool:
            action()
            return True

        return self._breaker.attempt(done, otherwise=False)

    def _fill_now(self, keys: list[str], remaining_ms: int, expires_at: str, marks: list[str]) -> None:
        failpoint("cache.filling")
        sent_ms = self._clock.now_ms()
        if sent_ms is None:
            seconds, microseconds = self._redis.time()  # pyright: ignore[reportUnknownMemberType] - kwargs without types
            sent_ms = seconds * 1000 + microseconds // 1000
        server_ms = self._fill(keys=keys, args=[remaining_ms, expires_at, sent_ms, *marks])
        self._clock.learn(int(server_ms))

    def _mark_now(self, leases: Sequence[LeaseOf]) -> None:
        failpoint("cancel.marking")
        keys = [_key(*lease) for lease in leases]
        self._mark(keys=keys, args=[self._lease_ms, CHANNEL, lease_words(leases)])

    def _read(self, record: bytes | None, left_ms: int) -> CachedLease | None:
        word, _, expires_at = (record or b"").decode(errors="replace").partition(" ")
        # More than a whole lease is no time that we have set: the server's clock was moved.
        if word not in {"live", "cancel"} or not expires_at or not 0 < left_ms <= self._lease_ms:
            return None
        return CachedLease(remaining_ms=left_ms, expires_at=expires_at, is_cancelled=word == "cancel")


def _key(host_id: UUID | str, lease_id: UUID | str) -> str:
    # With its holder: no other host is told anything about it.
    return f"corral:lease:{host_id}:{lease_id}"
