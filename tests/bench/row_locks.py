"""How long the reaper keeps rows locked: no longer than one of its transactions takes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from control.operations import reap
from control.operations.cadence import record_api_alive
from control.operations.plane import Plane

SIGN_SECONDS = 2.0


class Longest:
    """The longest transaction so far."""

    seconds = 0.0


@contextmanager
def transactions_of_reaper() -> Iterator[Longest]:
    """Times each transaction in which leases are ended while the block runs."""
    original, longest = reap._reap, Longest()

    def timed(*arguments: Any) -> int:
        began = time.monotonic()
        try:
            return original(*arguments)
        finally:
            longest.seconds = max(longest.seconds, time.monotonic() - began)

    reap._reap = timed
    try:
        yield longest
    finally:
        reap._reap = original


@contextmanager
def api_alive(plane: Plane) -> Iterator[None]:
    """An API that shows its life while the block runs: without one, the reaper does not judge."""
    is_over = threading.Event()

    def show() -> None:
        while not is_over.wait(SIGN_SECONDS):
            record_api_alive(plane)

    thread = threading.Thread(target=show)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
