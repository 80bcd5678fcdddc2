"""Rules of the house that a reader can check, checked."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral import failpoints

ROOT = Path(__file__).parents[2]
#: Files of more than 250 lines, each with its reason.
LONG_FOR_A_REASON = {
    "control/store/tables.py": "one list of all tables, which is read as a whole",
    "control/store/transitions.py": "all writers of a task's status stand in one place",
}
ROOMS = ("control", "corral", "workers", "migrations")


def sources() -> Iterator[Path]:
    for room in ROOMS:
        yield from (ROOT / room).rglob("*.py")


def test_one_module_alone_writes_the_status_of_a_task() -> None:
    writes = re.compile(r"(UPDATE\s+scheduled_tasks|INSERT\s+INTO\s+scheduled_tasks)")
    writers = {path.relative_to(ROOT).as_posix() for path in sources() if writes.search(path.read_text())}
    assert writers - {"migrations/versions/0001_tasks_and_hosts.py"} == {
        "control/store/transitions.py",
        "control/store/tasks.py",
    }
    assert "status = " not in (ROOT / "control/store/tasks.py").read_text().split("def insert_task")[1].split("def ")[0]


def test_statements_are_written_in_the_store_alone() -> None:
    statement = re.compile(r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\b", re.DOTALL)
    outside = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if path.is_relative_to(ROOT / "control") and not path.is_relative_to(ROOT / "control/store")
        if any(statement.search(text) for text in _strings(path))
    }
    assert outside == set()


def test_every_failpoint_stands_somewhere_and_every_place_is_known() -> None:
    used = {
        node.args[0].value
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failpoint"
        if isinstance(node.args[0], ast.Constant)
    }
    assert used == set(failpoints.NAMES)


def test_every_metric_is_counted_by_some_room_and_documented() -> None:
    defined = re.compile(r"^([A-Z_]+)(?:: Final)? = (?:Counter|Gauge|Histogram)\(\s*\"(\w+)\"", re.MULTILINE)
    # Without the lines that only show a row as zero.
    zero = re.compile(r"^ +[A-Z_]+\.labels\([\w., ]*\)$", re.MULTILINE)
    texts = [zero.sub("", path.read_text()) for path in sources()]
    every = "".join(texts)
    names = [found for text in texts for found in defined.findall(text)]
    page = (ROOT / "docs/reference/metrics.md").read_text()
    assert len(names) >= 40
    assert [name for name, _ in names if not re.search(rf"\b{name}\.|\({name}\b", every)] == []
    shown = [shown for _, shown in names] + re.findall(r"GaugeMetricFamily\(\s*\"(\w+)\"", every)
    assert [name for name in shown if f"`{name}" not in page] == []
    assert len(shown) == len(set(shown))


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    left = {path.relative_to(ROOT).as_posix() for path in sources() if later.search(path.read_text())}
    assert left == set()


def test_no_lock_file_names_where_packages_come_from() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert "--hash=sha256:" in lock


@pytest.mark.parametrize("room", ROOMS)
def test_a_long_file_is_the_exception(room: str) -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in (ROOT / room).rglob("*.py")
        if (lines := path.read_text().count("\n")) > 250
    }
    assert set(long) <= set(LONG_FOR_A_REASON), long


def _strings(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value
