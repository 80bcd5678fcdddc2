"""The code of the version before this one, taken from the history: what runs while a cluster is being upgraded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: The last state of version 0.1.0.
COMMIT = "75c9239b8dfe056c9f45b213c4559f82f9e60069"
ROOT = Path(__file__).parents[2]
PACKAGES = ("control", "corral", "migrations", "workers")


def take_former_version(folder: Path) -> Path:
    """Write its packages into the folder; skips, or fails in CI, where the history does not have them."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", COMMIT, *PACKAGES], capture_output=True, check=False)
    if archive.returncode:
        reason = f"this checkout has no commit {COMMIT[:7]}, the version before: fetch the whole history"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    _check_that_it_is_what_runs(folder)
    return folder


def former_revision(former: Path) -> str:
    """The schema that it was written for."""
    return max(file.name for file in (former / "migrations" / "versions").glob("0*.py"))[:4]


def _check_that_it_is_what_runs(former: Path) -> None:
    """The packages of this checkout are installed in the same environment."""
    found = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(PACKAGES)}; print({'.__file__, '.join(PACKAGES)}.__file__)"],
        env={**os.environ, "PYTHONPATH": str(former)},
        cwd=former,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(Path(file).is_relative_to(former) for file in found.stdout.split()), found.stdout
