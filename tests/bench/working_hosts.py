"""Hosts that take tasks and report them done at once, over HTTP, each with one device on one connection.

claim, held ─► an assignment ─► its result, with the next claim in it ─► perhaps the next assignment …
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from tests.bench.load import Enough, LoadResult, converse
from tests.bench.loads import Sighting
from tests.bench.seeding import SeededHost
from tests.bench.wire import post

#: Stands in a request until it is sent; as long as what takes its place.
_LEASE, _CLAIM = "l" * 36, "c" * 36
_LEASE_KEY, _UUID_CHARS = b'"lease_id":"', 36
WAIT_MS = 25_000


@dataclass
class _Tally:
    """What all hosts of a load have done together."""

    enough: int | None
    ended: int = 0
    claimed: list[Sighting] = field(default_factory=list[Sighting])
    last_ended_at: float = 0.0

    def count_end(self, at: float) -> None:
        self.ended += 1
        self.last_ended_at = at
        if self.ended == self.enough:
            raise Enough


class _WorkingHost:
    def __init__(self, number: int, host: SeededHost, tally: _Tally) -> None:
        self._number, self._tally = number, tally
        self._claim = _claim_request(host)
        self._result = _result_request(host)
        self._is_reporting = False

    def first(self) -> bytes | None:
        return self._asking()

    def following(self, reply: bytes, at: float) -> bytes | None:
        if self._is_reporting:
            self._tally.count_end(at)
        found = reply.find(_LEASE_KEY)
        if found < 0:
            return self._asking()
        self._tally.claimed.append(Sighting(self._number, at, reply))
        self._is_reporting = True
        lease_id = reply[found + len(_LEASE_KEY) : found + len(_LEASE_KEY) + _UUID_CHARS]
        return self._result.replace(_LEASE.encode(), lease_id).replace(_CLAIM.encode(), _fresh())

    def _asking(self) -> bytes:
        self._is_reporting = False
        return self._claim.replace(_CLAIM.encode(), _fresh())


@dataclass(frozen=True)
class WorkingHosts:
    """All hosts at once; ends when so many tasks have ended, or when it is stopped. Tells of each assignment."""

    port: int
    hosts: Sequence[SeededHost]
    enough: int | None = None

    def run(self, stop: int) -> LoadResult:
        tally = _Tally(self.enough)
        speakers = [_WorkingHost(number, host, tally) for number, host in enumerate(self.hosts)]
        result = converse(self.port, speakers, seconds=math.inf, stop=stop)
        result.told = list(tally.claimed)
        result.last_at = tally.last_ended_at
        return result


def _claim_request(host: SeededHost) -> bytes:
    return post(f"/internal/v1/hosts/{host.host_id}/claim", _claim(host, wait_ms=WAIT_MS), token=host.credential)


def _result_request(host: SeededHost) -> bytes:
    body = {"status": "done", "next_claim": _claim(host, wait_ms=0)}
    return post(f"/internal/v1/leases/{_LEASE}/result", body, token=host.credential)


def _claim(host: SeededHost, *, wait_ms: int) -> dict[str, object]:
    return {
        "claim_id": _CLAIM,
        "incarnation": str(host.incarnation),
        "free_devices": list(host.serials),
        "wait_ms": wait_ms,
    }


def _fresh() -> bytes:
    return str(uuid4()).encode()


def task_id_of(reply: bytes) -> str:
    """The task in a reply that carries an assignment."""
    body = json.loads(reply.partition(b"\r\n\r\n")[2])
    claimed = body.get("claimed") or body
    return claimed["assignment"]["task_id"]
