"""How many cores a fleet needs: the CPU times that the other benchmarks wrote down, times how often each thing happens.

A run of its own measures nothing: it reads what `renewals`, `life` and `endpoints` have left in `build/bench`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.row import Row

RESULTS = Path("build/bench")
DEVICES = 100_000
DEVICES_A_HOST = 16
LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 10.0
#: How long a task runs on average: what a fleet spends on the lives of tasks depends on this alone.
TASK_SECONDS = 300.0


@dataclass(frozen=True)
class _Work:
    """Something that every busy device, or its host for it, does so often."""

    name: str
    benchmark: str
    row: str
    per_device_and_second: float


WORK = (
    _Work("renewals, held for a host", "renewals", "renew_host_16", 3 / LEASE_SECONDS),
    _Work("renewals, one by one", "renewals", "renew_single", 3 / LEASE_SECONDS),
    _Work("lives of tasks", "life", "corral_life", 1 / TASK_SECONDS),
    _Work("heartbeats", "endpoints", "heartbeat_16", 1 / HEARTBEAT_SECONDS / DEVICES_A_HOST),
)
#: A host renews in one way or the other; the sum is of the one that hosts use.
ALTERNATIVE = "renewals, one by one"


def run() -> list[Row]:
    rows = [_row(work) for work in WORK]
    summed = [row.values for row in rows if row.name != ALTERNATIVE]
    api, postgres = (sum(values[f"{who}_us_per_device_second"] for values in summed) for who in ("api", "postgres"))
    total = _sized(api, postgres) | {"devices_per_api_core": 1e6 / api, "devices_per_postgres_core": 1e6 / postgres}
    return [*rows, Row("all", total)]


def _row(work: _Work) -> Row:
    found = _measured(work)
    # What the jobs do for the lives of tasks is work of the control plane too.
    api_us = found["api_cpu_us"] + found.get("jobs_cpu_us", 0.0)
    often = work.per_device_and_second
    counts = {
        "per_second_for_100k": often * DEVICES,
        "api_us_each": api_us,
        "postgres_us_each": found["postgres_cpu_us"],
    }
    return Row(work.name, counts | _sized(api_us * often, found["postgres_cpu_us"] * often))


def _sized(api_us: float, postgres_us: float) -> dict[str, float]:
    return {
        "api_us_per_device_second": api_us,
        "postgres_us_per_device_second": postgres_us,
        "api_cores_for_100k": api_us * DEVICES / 1e6,
        "postgres_cores_for_100k": postgres_us * DEVICES / 1e6,
    }


def _measured(work: _Work) -> dict[str, Any]:
    file = RESULTS / f"{work.benchmark}.json"
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: run `make bench BENCH={work.benchmark}` first")
    return next(row for row in json.loads(file.read_text())["rows"] if row["name"] == work.row)
