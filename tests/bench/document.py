"""Put the measured tables into docs/performance.md: `python -m tests.bench.document`, after `make bench`.

A table stands between `<!-- bench NAME: COLUMN COLUMN … -->` and `<!-- end -->`; what it shows is in the first of them.
A benchmark that was not run keeps its table.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

DOCUMENT = Path("docs/performance.md")
RESULTS = Path("build/bench")
_RULES = {"name": "---", "floor": "---"}
_TABLE = re.compile(r"(<!-- bench (\w+): ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    DOCUMENT.write_text(_TABLE.sub(_renewed, DOCUMENT.read_text()))


def _renewed(found: re.Match[str]) -> str:
    opening, name, columns, end = found.groups()
    file = RESULTS / f"{name}.json"
    if not file.exists():
        return found[0]
    wanted = columns.split()
    rows = [row for row in json.loads(file.read_text())["rows"] if any(column in row for column in wanted[1:])]
    lines = [_line(column.replace("_", " ") for column in wanted), _line(_RULES.get(one, "---:") for one in wanted)]
    lines += [_line(_shown(row.get(column, "")) for column in wanted) for row in rows]
    return opening + "".join(lines) + end


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _shown(value: object) -> str:
    if isinstance(value, float) and abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
