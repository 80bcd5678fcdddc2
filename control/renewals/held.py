"""Renewals that wait for news: one for each host, woken by what is told on the channel."""

from collections.abc import Generator
from contextlib import contextmanager

from control.metrics import HELD_RENEWALS
from control.signals.listener import Waiter


class Hold(Waiter):
    """One renewal that waits. Whatever ends the wait, the leases are looked at again after it."""

    def __init__(self) -> None:
        super().__init__()
        #: A later renewal of the same host has come, or the process ends: answer now, with what there is.
        self.is_over = False

    def end(self) -> None:
        self.is_over = True
        self.wake()


class HeldRenewals:
    """The renewals that this process holds, at most `max_held`."""

    def __init__(self, *, max_held: int) -> None:
        self._max_held = max_held
        self._holds: dict[str, Hold] = {}

    @property
    def is_full(self) -> bool:
        return len(self._holds) >= self._max_held

    @contextmanager
    def hold(self, host_id: str) -> Generator[Hold]:
        """Take the host's place while the block runs. Enter it before looking, so that no news falls in between."""
        hold = Hold()
        if earlier := self._holds.get(host_id):
            earlier.end()
        self._holds[host_id] = hold
        HELD_RENEWALS.inc()
        try:
            yield hold
        finally:
            HELD_RENEWALS.dec()
            if self._holds.get(host_id) is hold:
                del self._holds[host_id]

    def wake(self, host_id: str) -> None:
        if hold := self._holds.get(host_id):
            hold.wake()

    def wake_all(self) -> None:
        """Have all look again."""
        for hold in self._holds.values():
            hold.wake()

    def end_all(self) -> None:
        """Have all answer now."""
        for hold in self._holds.values():
            hold.end()
