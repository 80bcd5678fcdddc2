"""The control plane's settings: read from the environment, explained when wrong, and documented."""

from pathlib import Path

import pytest

from control.app.settings import Settings
from corral.environment import SettingsInvalid, settings_from_environment

ROOT = Path(__file__).parents[3]
REQUIRED = {"database_url": "postgresql://corral:secret@db/corral", "redis_url": "redis://:secret@cache:6379/0"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"CORRAL_{name.upper()}", raising=False)
    for name, value in REQUIRED.items():
        monkeypatch.setenv(f"CORRAL_{name.upper()}", value)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_LEASE_SECONDS", "6")
    settings = settings_from_environment(Settings)
    assert settings.timing.lease_seconds == 6
    assert (settings.address, settings.port) == ("127.0.0.1", 7700)
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("database_url", "mysql://db/corral"),
        ("redis_url", "redis-cluster://a:1,b:2"),
        ("redis_url", "cache:6379"),
        ("port", "70000"),
        ("pool_size", "many"),
        ("lease_seconds", "0"),
        ("lease_seconds", "nan"),
        ("log_format", "xml"),
        ("join_token", "short secret"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(f"CORRAL_{name.upper()}", value)
    with pytest.raises(SettingsInvalid) as invalid:
        settings_from_environment(Settings)
    assert str(invalid.value).startswith(f"CORRAL_{name.upper()}: ")
    assert "secret" not in str(invalid.value)


def test_the_front_door_cannot_have_a_queue_of_jobs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_CELERY_QUEUE", "jobs")
    with pytest.raises(SettingsInvalid, match=r"CORRAL_CELERY_QUEUE.*must not be 'jobs' or 'reap'"):
        settings_from_environment(Settings)


def test_a_missing_setting_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CORRAL_DATABASE_URL")
    with pytest.raises(SettingsInvalid, match="CORRAL_DATABASE_URL: is not set"):
        settings_from_environment(Settings)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_with_its_default(name: str):
    field = Settings.model_fields[name]
    (row,) = [line for line in documented() if line.startswith(f"| `CORRAL_{name.upper()}` |")]
    _, _, default, description, _ = (cell.strip() for cell in row.split("|", 4))
    assert description.strip("| ") == field.description
    if field.default_factory is None and not field.is_required() and field.default is not None:
        assert default == f"`{field.default}`"


def test_no_setting_is_documented_that_does_not_exist():
    named = {
        line.split("`")[1].removeprefix("CORRAL_").lower() for line in documented() if line.startswith("| `CORRAL_")
    }
    assert named == set(Settings.model_fields)


def documented() -> list[str]:
    text = (ROOT / "docs/reference/settings.md").read_text()
    section = text.partition("## The control plane")[2].partition("\n## ")[0]
    return section.splitlines()
