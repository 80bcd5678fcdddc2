"""Run the benchmarks that are named, or all."""

import json
import resource
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from tests.bench.row import Row
from tests.bench.table import show

#: Each is a module of this folder with a function `run`; imported when its turn comes, for their peers are heavy.
#: The last one reckons with what the others have measured.
BENCHMARKS = (
    "renewals",
    "cancel_latency",
    "cancels",
    "dispatch",
    "life",
    "endpoints",
    "scale",
    "footprint",
    "fsync",
    "sizing",
)
OUTPUT = Path("build/bench")


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    OUTPUT.mkdir(parents=True, exist_ok=True)
    # Whoever ends this process ends all that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Ten thousand held requests are as many open files, on both sides.
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    for name in names or BENCHMARKS:
        began = time.monotonic()
        rows: list[Row] = import_module(f"tests.bench.{name}").run()
        (OUTPUT / f"{name}.json").write_text(json.dumps({"rows": [row.as_json() for row in rows]}, indent=1) + "\n")
        show(f"{name}, measured in {time.monotonic() - began:.0f} s", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
