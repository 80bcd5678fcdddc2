"""Contestants in turns (A B A B …), so that what slows the machine down slows all of them."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.load import LoadResult
from tests.bench.row import Row


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn: how much was done, how long it took, and the CPU seconds that went into it, by who used them."""

    operations: int
    seconds: float
    cpu_seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def per_second(self) -> float:
        return self.operations / self.seconds


@dataclass(frozen=True, slots=True)
class Turn:
    """What was done, where the time that counts is not that of the whole turn."""

    operations: int
    seconds: float


def take(
    action: Callable[[], LoadResult | Turn | int], cpu: Mapping[str, Callable[[], float]], *, each: int = 1
) -> Sample:
    """Do it once, and measure. `each` is how many operations one request stands for."""
    before = {name: used() for name, used in cpu.items()}
    began = time.monotonic()
    done = action()
    seconds = time.monotonic() - began
    cpu_seconds = {name: used() - before[name] for name, used in cpu.items()}
    if isinstance(done, int):
        return Sample(done * each, seconds, cpu_seconds)
    if isinstance(done, Turn):
        return Sample(done.operations * each, done.seconds, cpu_seconds)
    done.must_be_fine()
    return Sample(done.operations * each, done.seconds, cpu_seconds | {"load": done.cpu_seconds})


def in_turns(contestants: Mapping[str, Callable[[], Sample]], *, rounds: int) -> dict[str, list[Sample]]:
    """Every contestant once in each round; the first round warms up and does not count."""
    taken: dict[str, list[Sample]] = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, contestant in contestants.items():
            taken[name].append(contestant())
    return {name: samples[1:] for name, samples in taken.items()}


def rate_row(name: str, taken: Mapping[str, Sequence[Sample]], *, floor: str | None = None, **more: float) -> Row:
    """The median rate beside its floor's, and the CPU of each operation, by who used it."""
    samples = taken[name]
    values: dict[str, object] = {"per_second": statistics.median(sample.per_second for sample in samples)}
    if floor is not None:
        values |= {"floor": floor, "ratio": median_ratio(samples, taken[floor])}
    operations = sum(sample.operations for sample in samples)
    for who in dict.fromkeys(who for sample in samples for who in sample.cpu_seconds):
        used = sum(sample.cpu_seconds.get(who, 0.0) for sample in samples)
        values[f"{who}_cpu_us"] = used / operations * 1e6
    return Row(name, values | more)


def median_ratio(samples: Sequence[Sample], floor: Sequence[Sample]) -> float:
    """The median of the ratios within each round: what disturbed a round disturbed both."""
    return statistics.median(one.per_second / other.per_second for one, other in zip(samples, floor, strict=True))
