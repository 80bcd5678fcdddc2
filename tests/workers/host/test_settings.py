"""The settings of a host as people write them."""

from pathlib import Path

import pytest

from corral.environment import SettingsInvalid, settings_from_environment
from workers.host.settings import HostSettings


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("CORRAL_API_URL", "http://127.0.0.1:8000")


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("CORRAL_JOIN_TOKEN", "enrol-me")
    monkeypatch.setenv("CORRAL_HOST_NAME", "shelf")
    monkeypatch.setenv("CORRAL_HOST_LABELS", '{"site": "here"}')
    monkeypatch.setenv("CORRAL_HOST_ADB_CONNECT", "127.0.0.1:5601, 127.0.0.1:5602")
    settings = HostSettings()
    assert settings.api_url == "http://127.0.0.1:8000"
    assert (settings.name, settings.labels) == ("shelf", {"site": "here"})
    assert settings.adb_connect == ["127.0.0.1:5601", "127.0.0.1:5602"]
    assert "enrol-me" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CORRAL_API_URL", "somewhere", "URL"),
        ("CORRAL_HOST_ADB_CONNECT", "127.0.0.1", "host:port"),
        ("CORRAL_HOST_ADB_PORT", "5037", "5037 belongs to the adb that people use by hand"),
        ("CORRAL_HOST_LABELS", '{"no spaces please": "x"}', "pattern"),
        ("CORRAL_HOST_LABELS", "site=here", "is not JSON"),
        ("CORRAL_HOST_DRAIN_LIMIT_SECONDS", "-1", "greater than or equal to 0"),
        ("CORRAL_HOST_LOG_FORMAT", "xml", "console"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_with_what_would_be_right(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsInvalid, match=said) as invalid:
        settings_from_environment(HostSettings)
    assert str(invalid.value).startswith(name)


def test_every_setting_says_what_it_is_for():
    assert [name for name, field in HostSettings.model_fields.items() if not field.description] == []


def test_every_setting_is_in_the_reference():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "host.md").read_text()
    aliases = {"api_url": "CORRAL_API_URL", "join_token": "CORRAL_JOIN_TOKEN"}
    names = [aliases.get(name, f"CORRAL_HOST_{name.upper()}") for name in HostSettings.model_fields]
    assert [name for name in names if f"`{name}`" not in page] == []
