"""How large the benchmarks are: CORRAL_BENCH_SCALE=0.1 makes a quick run of them."""

import os

SCALE = float(os.environ.get("CORRAL_BENCH_SCALE", "1"))


def scaled(number: int, *, least: int = 1) -> int:
    """So many, at full size; fewer in a quick run."""
    return max(least, round(number * SCALE))


#: A median of fewer is a guess.
ROUNDS = 5 if SCALE >= 0.5 else 3
