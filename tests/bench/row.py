"""One line of a benchmark's table."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, in units that the names of the values carry, beside its floor where it has one."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, **{key: _rounded(value) for key, value in self.values.items()}}


def percentiles_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th, 99th percentile and maximum, in milliseconds."""
    ordered = sorted(seconds)
    cuts = statistics.quantiles(ordered, n=100, method="inclusive")
    return {
        "p50_ms": cuts[49] * 1000,
        "p95_ms": cuts[94] * 1000,
        "p99_ms": cuts[98] * 1000,
        "max_ms": ordered[-1] * 1000,
    }


def _rounded(value: Any) -> Any:
    return round(value, 3 if abs(value) < 10 else 1) if isinstance(value, float) else value
