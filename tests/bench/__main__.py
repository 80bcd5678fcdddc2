"""Run the benchmarks that are named, or all."""

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import cancels, renewals
from tests.bench.row import Row

BENCHMARKS = {"renewals": renewals.run, "cancels": cancels.run}
OUTPUT = Path("build/bench")


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    for name in names or BENCHMARKS:
        rows = BENCHMARKS[name]()
        OUTPUT.mkdir(parents=True, exist_ok=True)
        (OUTPUT / f"{name}.json").write_text(json.dumps({"rows": [row.as_json() for row in rows]}, indent=1) + "\n")
        show(name, rows)
    return 0


def show(name: str, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row.as_json()))
    table = Table(title=name, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in {"name", "floor"} else "right")
    for row in rows:
        values = row.as_json()
        table.add_row(*(str(values.get(column, "")) for column in columns))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
