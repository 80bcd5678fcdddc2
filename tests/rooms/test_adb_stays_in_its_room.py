"""Only `workers/device` speaks adb, and there only through calls that know how they can end."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "workers" / "device"
SOURCES = [path for room in ("control", "corral", "workers") for path in sorted((ROOT / room).rglob("*.py"))]

#: adbutils' own ways to run a command or list devices: they lose errors, misread states and know no total deadline.
BANNED_CALLS = {
    "shell",
    "shell2",
    "click",
    "send_keys",
    "keyevent",
    "screenshot",
    "app_start",
    "app_stop",
    "app_current",
}
BANNED_CALLS |= {"dump_hierarchy", "window_size", "track_devices", "iter_device", "device_list", "server_kill"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def called_methods(tree: ast.AST) -> set[str]:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {function.attr for function in calls if isinstance(function, ast.Attribute)}


def test_adbutils_is_imported_nowhere_else():
    importing = [
        name_of(path)
        for path in SOURCES
        if ROOM not in path.parents
        and any(module.split(".")[0] == "adbutils" for module in imported_modules(ast.parse(path.read_text())))
    ]
    assert importing == []


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=name_of)
def test_what_adbutils_offers_beyond_its_framing_is_not_called(path):
    assert not called_methods(ast.parse(path.read_text())) & BANNED_CALLS


def test_a_command_line_is_written_in_one_file():
    quoting = re.compile(r"\bshlex\b|\bCommandLine\(")
    assert [path.name for path in sorted(ROOM.glob("*.py")) if quoting.search(path.read_text())] == ["command_line.py"]


def test_no_server_is_ever_asked_to_end_itself():
    killing = re.compile(r"[\"'](?:host:kill|kill-server)[\"']")
    assert not [name_of(path) for path in SOURCES if killing.search(path.read_text())]
