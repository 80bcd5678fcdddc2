"""Durable renewals and whole lives of tasks when each flush of Postgres takes 1 ms and 4 ms longer.

A library that is compiled on the spot and preloaded into Postgres adds the time; without a C compiler there are no
rows. One stand for each delay, all of them running, so that the turns can follow each other.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.life import started_life
from tests.bench.load_process import load_process
from tests.bench.renewals import ENV, Renewals
from tests.bench.rounds import Sample, in_turns, rate_row
from tests.bench.row import Row
from tests.bench.seeding import seed_hosts
from tests.bench.sizes import ROUNDS, scaled
from tests.bench.stand import stand

DELAYS_MS = (0, 1, 4)
SOURCE = Path(__file__).with_name("slow_fsync.c")


def run() -> list[Row]:
    compiler = shutil.which("cc")
    if compiler is None:
        sys.stderr.write("fsync is left out: there is no C compiler (cc) for the library that slows it down\n")
        return []
    with _library(compiler) as library, ExitStack() as stack:
        contestants: dict[str, Callable[[], Sample]] = {}
        for delay_ms in DELAYS_MS:
            contestants |= _contestants(stack, library, delay_ms)
        taken = in_turns(contestants, rounds=ROUNDS)
        floors = {what: f"{what}_fsync_0ms" for what in ("renew_single", "corral_life")}
        return [
            rate_row(name, taken, floor=None if name in floors.values() else floors[name.partition("_fsync")[0]])
            for name in sorted(contestants, reverse=True)
        ]


def _contestants(stack: ExitStack, library: Path, delay_ms: int) -> dict[str, Callable[[], Sample]]:
    made = stack.enter_context(stand(LD_PRELOAD=str(library), SLOW_FSYNC_US=str(delay_ms * 1000)))
    loads = [stack.enter_context(load_process()) for _ in range(2)]
    singles = seed_hosts(made, scaled(625, least=32), devices=16, busy=True)
    life = started_life(made, *loads, **ENV)
    renewals = Renewals(made, loads[0], singles, hosts=[], cached=[])
    return {
        f"renew_single_fsync_{delay_ms}ms": renewals.single,
        f"corral_life_fsync_{delay_ms}ms": life.live,
    }


@contextmanager
def _library(compiler: str) -> Iterator[Path]:
    with TemporaryDirectory(prefix="corral-fsync-") as name:
        folder = Path(name)
        # Postgres may run as another user.
        folder.chmod(0o755)
        library = folder / "slow_fsync.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        yield library
