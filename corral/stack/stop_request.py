"""Ctrl-C, SIGTERM and SIGHUP as a wish that is looked at, so that they never cut a start in two."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopAsked(Exception):
    """Somebody wants the stack to end before it was up."""


class StopRequest:
    """How often a stop was asked for: once is in order, twice is now."""

    def __init__(self) -> None:
        self._times = 0

    @property
    def is_asked(self) -> bool:
        return self._times > 0

    @property
    def is_urgent(self) -> bool:
        return self._times > 1

    def ask(self) -> None:
        self._times += 1

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.ask()

    def check(self) -> None:
        """Raises `StopAsked` once a stop was asked for."""
        if self.is_asked:
            raise StopAsked

    @contextmanager
    def from_signals(self) -> Generator[None]:
        """While the block runs, the signals that mean "end" ask here."""
        former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
