"""Flower's settings: who may look in, from where, and that each is documented."""

from pathlib import Path

import pytest

from control.flower.settings import FlowerSettings
from corral.environment import SettingsInvalid, settings_from_environment

ROOT = Path(__file__).parents[3]


def variable(name: str) -> str:
    alias = FlowerSettings.model_fields[name].validation_alias
    return str(alias) if alias else f"CORRAL_FLOWER_{name.upper()}"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FlowerSettings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.setenv("CORRAL_REDIS_URL", "redis://:secret@cache:6379/0")


def test_flower_is_for_this_machine_alone_unless_somebody_says_otherwise():
    settings = settings_from_environment(FlowerSettings)
    assert (settings.address, settings.port, settings.credentials) == ("127.0.0.1", 7755, [])


def test_users_are_names_with_passwords_and_stay_out_of_what_is_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_FLOWER_USERS", "ann:a-long-secret, ben:pass:with:colons")
    settings = settings_from_environment(FlowerSettings)
    assert settings.credentials == ["ann:a-long-secret", "ben:pass:with:colons"]
    assert "secret" not in repr(settings)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.7", "flower.example"])
def test_whoever_listens_to_others_names_users(monkeypatch: pytest.MonkeyPatch, address: str):
    monkeypatch.setenv("CORRAL_FLOWER_ADDRESS", address)
    with pytest.raises(SettingsInvalid, match="CORRAL_FLOWER_USERS: must be set where"):
        settings_from_environment(FlowerSettings)
    monkeypatch.setenv("CORRAL_FLOWER_USERS", "ann:a-long-secret")
    assert settings_from_environment(FlowerSettings).address == address


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("users", "ann"),
        ("users", "ann:secret"),
        ("users", ":a-long-secret"),
        ("users", "änn:a-long-secret"),
        ("users", "ann:a long secret"),
        ("redis_url", "redis-cluster://a:1,b:2"),
        ("port", "70000"),
        ("max_tasks", "0"),
        ("url_prefix", "http://proxy/secret"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(variable(name), value)
    with pytest.raises(SettingsInvalid) as invalid:
        settings_from_environment(FlowerSettings)
    assert str(invalid.value).startswith(f"{variable(name)}: ")
    assert "secret" not in str(invalid.value)


def test_a_prefix_is_the_same_with_and_without_slashes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_FLOWER_URL_PREFIX", "/tools/flower/")
    assert settings_from_environment(FlowerSettings).url_prefix == "tools/flower"


def test_every_setting_is_documented_with_its_default():
    section = (ROOT / "docs/reference/settings.md").read_text().partition("## Flower")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    documented = {name.strip("`"): (default, description) for name, default, description in rows}
    assert documented == {variable(name): _documentation(name) for name in FlowerSettings.model_fields}


def _documentation(name: str) -> tuple[str, str | None]:
    field = FlowerSettings.model_fields[name]
    if field.is_required():
        return "required", field.description
    return ("none" if name in {"users", "url_prefix"} else f"`{field.default}`"), field.description
