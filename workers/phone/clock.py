"""The two clocks of a phone: one to compare its log with the logs of others, one for its own delays."""

import time


def wall_seconds() -> float:
    """Seconds since the epoch, for the log: readers compare it with what other processes wrote."""
    return time.time()  # noqa: TID251 - the phone's own clock file


def monotonic_seconds() -> float:
    """Seconds that only grow, for slow screens, toasts and faults."""
    return time.monotonic()
