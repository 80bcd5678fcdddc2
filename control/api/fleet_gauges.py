"""The state of the fleet on the page of metrics: looked up for whoever asks, for all who ask within some seconds."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from control.metrics import FLEET_LOOKS_FAILED
from control.operations.fleet_counts import FleetCounts, count_fleet
from control.operations.plane import Plane

log = structlog.get_logger()

#: Less than anybody's interval of scrapes; whoever asks more often gets what the last look saw.
MAX_AGE_SECONDS = 5.0
#: Prometheus waits ten seconds for a page, and without Postgres it is to get one all the same.
PATIENCE_SECONDS = 1.5


class FleetGauges:
    """For one API process. Every process shows the same, so ask for the greatest: `max by (status) (corral_tasks)`."""

    def __init__(
        self, plane: Plane, *, periods_seconds: Mapping[str, float], is_redis_connected: Callable[[], bool]
    ) -> None:
        self._plane = plane
        self._periods_seconds = periods_seconds
        self._is_redis_connected = is_redis_connected
        self._began_at = -math.inf
        self._look: asyncio.Future[FleetCounts | None] | None = None
        # A thread of its own: a look that hangs takes none from the requests.
        self._thread = CapacityLimiter(1)

    async def page(self) -> bytes:
        """The gauges in the Prometheus text format; those of the fleet are missing where Postgres does not answer."""
        counts = await self._counts()
        if counts is None:
            FLEET_LOOKS_FAILED.inc()
        registry = CollectorRegistry()
        gauges = _Gauges(
            counts,
            self._periods_seconds,
            cancel_limit_seconds=self._plane.timing.cancel_limit_seconds,
            is_redis_connected=self._is_redis_connected(),
        )
        registry.register(gauges)
        return generate_latest(registry)

    async def _counts(self) -> FleetCounts | None:
        now = time.monotonic()
        # One that hangs is waited for by the next as well: a second would hang beside it.
        if self._look is None or (self._look.done() and now - self._began_at > MAX_AGE_SECONDS):
            self._began_at = now
            self._look = asyncio.ensure_future(run_sync(self._count, limiter=self._thread))
        await asyncio.wait({self._look}, timeout=PATIENCE_SECONDS)
        return self._look.result() if self._look.done() and not self._look.cancelled() else None

    def _count(self) -> FleetCounts | None:
        try:
            return count_fleet(self._plane)
        except Exception as error:  # noqa: BLE001 - whatever it is, a metric must not be why a request fails
            said = str(error).partition("\n")[0]
            log.warning("metrics.fleet_not_seen", error=f"{type(error).__name__}: {said}")
            return None


class _Gauges(Collector):
    def __init__(
        self,
        counts: FleetCounts | None,
        periods_seconds: Mapping[str, float],
        *,
        cancel_limit_seconds: float,
        is_redis_connected: bool,
    ) -> None:
        self._counts = counts
        self._periods_seconds = periods_seconds
        self._cancel_limit_seconds = cancel_limit_seconds
        self._is_redis_connected = is_redis_connected

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(
            "corral_redis_is_connected", "1 while wake-ups are heard from Redis.", value=self._is_redis_connected
        )
        yield GaugeMetricFamily(
            "corral_cancel_limit_seconds",
            "After so long a cancelled task has ended, also where its host has gone.",
            value=self._cancel_limit_seconds,
        )
        yield _by("job_name", self._periods_seconds, "corral_job_period_seconds", "How often each job is to run.")
        if self._counts is not None:
            yield from _of_fleet(self._counts)
            ages = {name: self._counts.run_ages_seconds.get(name, math.inf) for name in self._periods_seconds}
            yield _by("job_name", ages, "corral_job_age_seconds", "How long ago each job last ran.")


def _of_fleet(counts: FleetCounts) -> Iterator[GaugeMetricFamily]:
    yield _by("status", counts.tasks, "corral_tasks", "Tasks that have not ended, by status.")
    yield GaugeMetricFamily(
        "corral_oldest_queued_task_seconds",
        "How long the task that waits longest has been queued.",
        value=counts.oldest_queued_seconds,
    )
    yield _by("status", counts.cancels, "corral_pending_cancels", "Cancels whose task goes on, by its status.")
    yield GaugeMetricFamily(
        "corral_oldest_pending_cancel_seconds",
        "How long ago the cancel that pends longest was requested.",
        value=counts.oldest_cancel_seconds,
    )
    yield _by("remaining", counts.leases, "corral_leases", "Leases, by how much of their length is left.")
    yield _by("state", counts.hosts, "corral_hosts", "Hosts, by state.")
    yield _by("state", counts.devices, "corral_devices", "Devices, by state.")


def _by(label: str, values: Mapping[str, float], name: str, documentation: str) -> GaugeMetricFamily:
    """One gauge with a row for each value of its label."""
    family = GaugeMetricFamily(name, documentation, labels=[label])
    for said, value in values.items():
        family.add_metric([said], value)
    return family
