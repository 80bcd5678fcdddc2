"""The secrets that a cluster of containers makes up for itself."""

from pathlib import Path

import pytest

from control.app.settings import Settings
from control.flower.settings import FlowerSettings
from corral.environment import settings_from_environment
from corral.stack.cluster_secrets import make_secrets


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_is_there_stays(tmp_path: Path):
    make_secrets(tmp_path)
    first = contents(tmp_path)
    make_secrets(tmp_path)
    assert contents(tmp_path) == first
    make_secrets(tmp_path / "another")
    assert contents(tmp_path / "another").items().isdisjoint(first.items())


def test_what_a_start_that_was_cut_off_has_left_is_completed(tmp_path: Path):
    make_secrets(tmp_path)
    first = contents(tmp_path)
    for name in ("control/database-url", "redis/redis.conf", "flower/users"):
        (tmp_path / name).unlink()
    make_secrets(tmp_path)
    assert contents(tmp_path) == first


def test_a_secret_that_was_replaced_is_passed_on(tmp_path: Path):
    make_secrets(tmp_path)
    (tmp_path / "flower/password").unlink()
    (tmp_path / "flower/password").write_text("chosen by me\n")
    make_secrets(tmp_path)
    assert (tmp_path / "flower/users").read_text() == "corral:chosen by me"


def test_a_host_is_given_the_join_token_and_nothing_else(tmp_path: Path):
    make_secrets(tmp_path)
    assert [path.name for path in (tmp_path / "host").iterdir()] == ["join-token"]
    assert (tmp_path / "host/join-token").read_text() == (tmp_path / "control/join-token").read_text()


def test_the_parts_take_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_secrets(tmp_path)
    for variable, name in {
        "CORRAL_DATABASE_URL": "control/database-url",
        "CORRAL_REDIS_URL": "control/redis-url",
        "CORRAL_JOIN_TOKEN": "control/join-token",
        "CORRAL_FLOWER_USERS": "flower/users",
    }.items():
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv(f"{variable}_FILE", str(tmp_path / name))
    monkeypatch.setenv("CORRAL_FLOWER_ADDRESS", "0.0.0.0")
    assert settings_from_environment(Settings).join_token is not None
    assert settings_from_environment(FlowerSettings).credentials[0].startswith("corral:")
