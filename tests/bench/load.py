"""Many connections from one thread, as cheap as Python can: what is measured shares the machine with its load.

    request as bytes ─► send ─► epoll ─► recv ─► whole? ─► the conversation says what comes next

A conversation is what one connection says. `converse` is a closed loop: each connection sends when it has its answer.
`pace` is an open one: requests are due at a fixed rate, and an answer's time counts from when its request was due.
"""

import gc
import select
import time
from array import array
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from tests.bench.wire import RECEIVE_BYTES, connected, is_whole

EVENTS_AT_ONCE = 512
#: epoll knows no endless time.
LONGEST_SECONDS = 3600.0


class Enough(Exception):
    """A conversation has seen what the load was for; end it."""


class Later(NamedTuple):
    """A request that is not to be sent at once."""

    due_at: float
    request: bytes


class Conversation(Protocol):
    """What one connection says; None where it has no more to say."""

    def first(self) -> bytes | None: ...

    def following(self, reply: bytes, at: float) -> bytes | Later | None: ...


@dataclass
class LoadResult:
    """What came of a load. Instants are those of `time.monotonic`, which all processes share."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    statuses: Counter[str] = field(default_factory=Counter[str])
    first_refusal: str = ""
    #: When the last thing came to its end, where the load looks for it.
    last_at: float = 0.0
    #: What conversations saw and want to tell.
    told: list[Any] = field(default_factory=list[Any])

    @property
    def operations(self) -> int:
        return len(self.latencies)

    def must_be_fine(self) -> "LoadResult":
        """Itself, where every answer was a success."""
        assert not self.first_refusal, self.first_refusal
        return self


class Connections:
    """Sockets by their descriptors, with replies that have come in part."""

    def __init__(self, port: int, count: int, *, stop: int | None) -> None:
        self.sockets = {made.fileno(): made for made in (connected(port) for _ in range(count))}
        self._parts: dict[int, bytes] = {}
        self._usual_bytes = 0
        self.stop = stop
        self.epoll = select.epoll()
        for descriptor, made in self.sockets.items():
            made.setblocking(False)
            self.epoll.register(descriptor, select.EPOLLIN)
        if stop is not None:
            self.epoll.register(stop, select.EPOLLIN)

    def receive(self, descriptor: int) -> bytes | None:
        """A whole reply, or None while some of it is missing."""
        received = self.sockets[descriptor].recv(RECEIVE_BYTES)
        # Most are like the one before; only others are worth a closer look.
        if len(received) == self._usual_bytes and received.endswith(b"}") and received.startswith(b"HTTP"):
            return received
        if not received:
            raise ConnectionError("the server closed a connection")
        if descriptor in self._parts:
            received = self._parts.pop(descriptor) + received
        if is_whole(received):
            self._usual_bytes = len(received)
            return received
        self._parts[descriptor] = received
        return None

    def close(self) -> None:
        self.epoll.close()
        for made in self.sockets.values():
            made.close()


def converse(port: int, conversations: Sequence[Conversation], *, seconds: float, stop: int | None) -> LoadResult:
    """Let each connection speak until all have ended, the time is over, or `stop` becomes readable."""
    connections = Connections(port, len(conversations), stop=stop)
    speakers = dict(zip(connections.sockets, conversations, strict=True))
    result, sent_at = LoadResult(), dict[int, float]()
    later: list[tuple[float, int, bytes]] = []
    with suppress(Enough), _measured(result, connections):
        for descriptor, speaker in speakers.items():
            if request := speaker.first():
                sent_at[descriptor] = time.monotonic()
                connections.sockets[descriptor].send(request)
        ends_at = time.monotonic() + min(seconds, LONGEST_SECONDS)
        while (sent_at or later) and (now := time.monotonic()) < ends_at:
            while later and later[0][0] <= now:
                _, descriptor, request = heappop(later)
                sent_at[descriptor] = now
                connections.sockets[descriptor].send(request)
            wait_seconds = (min(ends_at, later[0][0]) if later else ends_at) - now
            for descriptor, _ in connections.epoll.poll(max(wait_seconds, 0.0), EVENTS_AT_ONCE):
                if descriptor == stop:
                    return result
                reply = connections.receive(descriptor)
                if reply is None:
                    continue
                now = time.monotonic()
                _note(result, reply, now - sent_at[descriptor])
                request = speakers[descriptor].following(reply, now)
                if isinstance(request, bytes):
                    sent_at[descriptor] = now
                    connections.sockets[descriptor].send(request)
                    continue
                del sent_at[descriptor]
                if request is not None:
                    heappush(later, (request.due_at, descriptor, request.request))
    return result


def pace(
    port: int, requests: Sequence[bytes], *, per_second: float, connections: int, seconds: float, stop: int | None
) -> LoadResult:
    """Send the requests in turn at a fixed rate, over as many connections as are needed and there."""
    wires = Connections(port, connections, stop=stop)
    idle, due_at = deque(wires.sockets), dict[int, float]()
    result, sent = LoadResult(), 0
    with _measured(result, wires):
        starts_at = time.monotonic()
        ends_at = starts_at + min(seconds, LONGEST_SECONDS)
        while (now := time.monotonic()) < ends_at:
            due = starts_at + sent / per_second
            while due <= now and idle:
                descriptor = idle.popleft()
                due_at[descriptor] = due
                wires.sockets[descriptor].send(requests[sent % len(requests)])
                sent += 1
                due = starts_at + sent / per_second
            wait_seconds = max((due if idle else ends_at) - now, 0.0)
            for descriptor, _ in wires.epoll.poll(wait_seconds, EVENTS_AT_ONCE):
                if descriptor == stop:
                    return result
                if reply := wires.receive(descriptor):
                    _note(result, reply, time.monotonic() - due_at.pop(descriptor))
                    idle.append(descriptor)
    return result


def _note(result: LoadResult, reply: bytes, latency_seconds: float) -> None:
    result.latencies.append(latency_seconds)
    if reply[9:10] != b"2":
        result.statuses[reply[9:12].decode()] += 1
        result.first_refusal = result.first_refusal or reply.decode(errors="replace")


class _measured:  # noqa: N801 - reads as a statement
    """Takes the time of a load, with the garbage collector out of the way, and closes its connections."""

    def __init__(self, result: LoadResult, connections: Connections) -> None:
        self._result, self._connections = result, connections

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()
        self._began, self._cpu_began = time.monotonic(), time.process_time()

    def __exit__(self, *_error: object) -> None:
        self._result.seconds = time.monotonic() - self._began
        self._result.cpu_seconds = time.process_time() - self._cpu_began
        gc.enable()
        self._connections.close()
