import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corral.cli.run import run
from corral.client import transport
from tests.corral.fake_api import KEY, FakeApi


@dataclass(frozen=True)
class Ran:
    """What a command line has printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def problem(self) -> Any:
        return json.loads(self.err)


Corral = Callable[..., Ran]


@pytest.fixture
def corral(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Corral:
    """Run a command line in this process, where no stack is up and the environment names none."""
    monkeypatch.setattr(transport, "RETRY_PAUSES_SECONDS", (0.0,))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CORRAL_URL", "CORRAL_API_KEY", "CORRAL_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Ran:
        code = run(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def of_api(corral: Corral, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Corral:
    """The same, with the API's address and key in the environment."""
    monkeypatch.setenv("CORRAL_URL", api.url)
    monkeypatch.setenv("CORRAL_API_KEY", KEY)
    return corral
