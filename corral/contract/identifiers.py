"""UUIDs of version 7: they sort by the time they were made, which keeps indexes and pages in order (RFC 9562)."""

import secrets
import time
import uuid


def uuid7() -> uuid.UUID:
    """A fresh identifier: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = secrets.randbits(74)
    high = (milliseconds << 16) | (0x7 << 12) | (random_bits >> 62)
    low = (0b10 << 62) | (random_bits & ((1 << 62) - 1))
    return uuid.UUID(int=(high << 64) | low)
