"""Every metric of every process, with its rows as they are shown before anything has happened."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

from prometheus_client import Counter
from prometheus_client.metrics import MetricWrapperBase

from control.api.fleet_gauges import _Gauges
from control.jobs.metrics import show_jobs, show_ticks
from control.jobs.schedule import scheduled_jobs
from control.operations.fleet_counts import DEVICE_STATES, HOST_STATES, REMAINING, FleetCounts
from control.operations.plane import Timing

ROOT = Path(__file__).parents[2]
#: By the heading of the documentation.
MODULES = {
    "The API": "control.metrics",
    "Jobs and beat": "control.jobs.metrics",
    "The bridge": "control.flower.metrics",
    "The host": "workers.metrics",
}
#: Their rows come with what is counted: there is one for each route, job, or sender that a process has.
GROWING = {"route", "status", "job_name", "sender"}


@dataclass
class Known:
    name: str
    type: str
    labels: list[str]
    #: By label, the values that are shown from the start.
    values: dict[str, set[str]] = field(default_factory=dict)

    def series(self) -> set[str]:
        ends = ("_bucket", "_count", "_sum") if self.type == "histogram" else ("",)
        return {f"{self.name}{end}" for end in ends}


def known_metrics() -> dict[str, list[Known]]:
    """By the heading under which they are documented."""
    names = [job.name for job in scheduled_jobs(Timing())]
    show_jobs(names)
    show_ticks(names)
    known = {title: list(_counted(import_module(name))) for title, name in MODULES.items()}
    fleet = list(_shown())
    # It tells of one process.
    redis = next(one for one in fleet if one.name == "corral_redis_is_connected")
    fleet.remove(redis)
    known["The API"].append(redis)
    return {"The fleet": fleet, **known}


def _counted(module: ModuleType) -> Iterator[Known]:
    for metric in vars(module).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.collect()
            yield _known(_name(metric), family.type, list(metric._labelnames), family.samples)


def _name(metric: MetricWrapperBase) -> str:
    return f"{metric._name}_total" if isinstance(metric, Counter) else metric._name


def _shown() -> Iterator[Known]:
    some = FleetCounts(
        tasks=dict.fromkeys(("queued", "assigned", "dispatched"), 0),
        oldest_queued_seconds=0,
        cancels=dict.fromkeys(("assigned", "dispatched"), 0),
        oldest_cancel_seconds=0,
        leases=dict.fromkeys(REMAINING, 0),
        hosts=dict.fromkeys(HOST_STATES, 0),
        devices=dict.fromkeys(DEVICE_STATES, 0),
        run_ages_seconds={},
    )
    periods = {job.name: job.period_seconds for job in scheduled_jobs(Timing())}
    for family in _Gauges(some, periods, cancel_limit_seconds=1, is_redis_connected=True).collect():
        yield _known(family.name, family.type, list(family.samples[0].labels), family.samples)


def _known(name: str, kind: str, labels: list[str], samples: list) -> Known:
    values: dict[str, set[str]] = {label: set() for label in labels}
    for sample in samples:
        for label in labels:
            values[label].add(sample.labels[label])
    return Known(name, kind, labels, values)


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bcorral_\w+", expression))
