"""The ids of traces and spans, which follow from those of tasks; and the header in which others send theirs."""

import hashlib
import random
import re
from typing import NamedTuple
from uuid import UUID

_HALF = (1 << 64) - 1
#: Version, trace id, span id, flags, and what later versions may add.
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.ASCII)


class SpanPlace(NamedTuple):
    """Which span of which trace."""

    trace_id: int
    span_id: int


def root_of(task_id: UUID) -> SpanPlace:
    """The root span of a task's trace."""
    # A UUID that a client made up may end in zeros, and no span has the id 0.
    return SpanPlace(task_id.int, task_id.int & _HALF or 1)


def fresh_span_id() -> int:
    return random.getrandbits(64) or 1


def repeatable_span_id(task_id: UUID, name: str, started_ns: int) -> int:
    """The same for the same span, so that one that is told again is known again."""
    told = b"%b %b %d" % (task_id.bytes, name.encode(), started_ns)
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest()) or 1


def parsed_traceparent(header: str | None) -> SpanPlace | None:
    """The span that a caller names in `traceparent` (W3C Trace Context); None where that cannot be read."""
    found = _TRACEPARENT.fullmatch(header.strip()) if header else None
    if found is None or found[1] == "ff":
        return None
    place = SpanPlace(int(found[2], 16), int(found[3], 16))
    return place if place.trace_id and place.span_id else None
