"""The loads that benchmarks send: renewals in a closed loop or at a fixed rate, held ones, and claims."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from tests.bench.load import Later, LoadResult, converse, pace

_RENEW_AFTER, _ZERO = b'"renew_after_ms":', ord("0")


@dataclass
class _InTurn:
    requests: Iterator[bytes]

    def first(self) -> bytes | None:
        return next(self.requests, None)

    def following(self, _reply: bytes, _at: float) -> bytes | None:
        return next(self.requests, None)


@dataclass(frozen=True)
class Once:
    """Each request once, over some connections."""

    port: int
    requests: Sequence[bytes]
    connections: int

    def run(self, stop: int) -> LoadResult:
        requests = iter(self.requests)
        return converse(self.port, [_InTurn(requests)] * self.connections, seconds=math.inf, stop=stop)


@dataclass(frozen=True)
class AgainAndAgain:
    """The requests in turn, for some time."""

    port: int
    requests: Sequence[bytes]
    connections: int
    seconds: float

    def run(self, stop: int) -> LoadResult:
        requests = cycle(self.requests)
        return converse(self.port, [_InTurn(requests)] * self.connections, seconds=self.seconds, stop=stop)


@dataclass(frozen=True)
class Paced:
    """The requests in turn at a fixed rate, until stopped or for some time."""

    port: int
    requests: Sequence[bytes]
    per_second: float
    connections: int
    seconds: float = math.inf

    def run(self, stop: int) -> LoadResult:
        return pace(
            self.port,
            self.requests,
            per_second=self.per_second,
            connections=self.connections,
            seconds=self.seconds,
            stop=stop,
        )


@dataclass(frozen=True)
class Sighting:
    """A reply that was looked for: on whose connection, when, and what it said."""

    number: int
    at: float
    reply: bytes


@dataclass
class _Repeated:
    """Asks the same again and again until the answer has the mark; then it asks the other thing.

    As a host does, it waits in between where the answer says so: where Redis is away, nothing is held.
    """

    number: int
    request: bytes
    afterwards: bytes
    mark: bytes
    seen: list[Sighting]

    def first(self) -> bytes | None:
        return self.request

    def following(self, reply: bytes, at: float) -> bytes | Later:
        if self.request is not self.afterwards and self.mark in reply:
            self.seen.append(Sighting(self.number, at, reply))
            self.request = self.afterwards
        found = reply.find(_RENEW_AFTER)
        if found < 0 or reply[found + len(_RENEW_AFTER)] == _ZERO:
            return self.request
        digits = reply[found + len(_RENEW_AFTER) :].partition(b",")[0].rstrip(b"}")
        return Later(at + int(digits) / 1000, self.request)


@dataclass(frozen=True)
class UntilMarked:
    """One connection for each request, which repeats it until an answer has the mark. Runs until it is stopped."""

    port: int
    requests: Sequence[bytes]
    afterwards: Sequence[bytes]
    mark: bytes

    def run(self, stop: int) -> LoadResult:
        seen: list[Sighting] = []
        pairs = zip(self.requests, self.afterwards, strict=True)
        speakers = [_Repeated(number, *pair, self.mark, seen) for number, pair in enumerate(pairs)]
        result = converse(self.port, speakers, seconds=math.inf, stop=stop)
        result.told = list(seen)
        return result
