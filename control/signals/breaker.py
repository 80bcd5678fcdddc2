"""Keeps a dead Redis from costing every request its deadline."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from control.metrics import SIGNALS_FAILURES

log = structlog.get_logger()
T = TypeVar("T")

#: After a failure nobody tries for this long; then one does, and the others only if it succeeded.
REST_SECONDS = 1.5


class Breaker:
    """Runs attempts that may fail, rests after a failure, and logs an outage once at its start and once at its end.

    Those that failed or were not tried are counted under `name`.
    """

    def __init__(self, name: str, *, rest_seconds: float = REST_SECONDS) -> None:
        self._name = name
        # Shown as 0 before the first outage.
        self._failures = SIGNALS_FAILURES.labels(name)
        self._rest_seconds = rest_seconds
        self._lock = threading.Lock()
        self._failed_first_at: float | None = None
        self._rests_until = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether the last attempt failed, and nothing has worked since."""
        return self._failed_first_at is not None

    def attempt(self, action: Callable[[], T], *, otherwise: T) -> T:
        """What the action answers; `otherwise` where it failed or was not tried. Never raises."""
        if not self._may_try():
            self._failures.inc()
            return otherwise
        try:
            answer = action()
        except Exception as error:  # noqa: BLE001 - the promise is that a signal never fails its sender
            self._failed(error)
            return otherwise
        self._worked()
        return answer

    def _may_try(self) -> bool:
        with self._lock:
            if self._failed_first_at is None:
                return True
            now = time.monotonic()
            if now < self._rests_until:
                return False
            self._rests_until = now + self._rest_seconds
            return True

    def _failed(self, error: Exception) -> None:
        self._failures.inc()
        with self._lock:
            now = time.monotonic()
            is_first = self._failed_first_at is None
            self._failed_first_at = self._failed_first_at or now
            self._rests_until = now + self._rest_seconds
        if is_first:
            log.warning("signals.unreachable", sender=self._name, error=f"{type(error).__name__}: {error}")

    def _worked(self) -> None:
        with self._lock:
            failed_first_at, self._failed_first_at = self._failed_first_at, None
        if failed_first_at is not None:
            away_seconds = round(time.monotonic() - failed_first_at, 1)
            log.info("signals.reachable_again", sender=self._name, away_seconds=away_seconds)
