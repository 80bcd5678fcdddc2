"""Secrets that stand in files, for every process that has settings."""

from pathlib import Path

import pytest
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from control.app.settings import Settings
from corral.environment import SettingsInvalid, secret_from_file, settings_from_environment
from workers.host.settings import HostSettings


class Kiosk(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="KIOSK_", hide_input_in_errors=True)

    till: SecretStr
    name: str = "corner"
    safe: SecretStr | None = Field(default=None, validation_alias="SAFE_CODE")


@pytest.fixture
def till(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "till"
    path.write_text("tell nobody\n")
    monkeypatch.setenv("KIOSK_TILL_FILE", str(path))
    return path


def test_a_secret_may_stand_in_a_file_whose_last_line_may_end(till: Path):
    settings = settings_from_environment(Kiosk)
    assert settings.till.get_secret_value() == "tell nobody"
    assert "tell" not in repr(settings)


def test_a_secret_with_a_name_of_its_own_may_stand_in_a_file(till: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SAFE_CODE_FILE", str(till))
    settings = settings_from_environment(Kiosk)
    assert settings.safe is not None
    assert settings.safe.get_secret_value() == "tell nobody"


def test_what_is_no_secret_is_not_read_from_a_file(till: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KIOSK_NAME_FILE", str(till))
    assert settings_from_environment(Kiosk).name == "corner"


def test_a_secret_that_is_given_twice_is_refused(till: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KIOSK_TILL", "another")
    with pytest.raises(SettingsInvalid, match="KIOSK_TILL_FILE: KIOSK_TILL is set too; set one of them"):
        settings_from_environment(Kiosk)


def test_an_empty_variable_is_not_set(till: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KIOSK_TILL", "")
    assert settings_from_environment(Kiosk).till.get_secret_value() == "tell nobody"
    monkeypatch.setenv("SAFE_CODE_FILE", "")
    assert secret_from_file("SAFE_CODE") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "cannot be read: it is not UTF-8 text"),
        (b"x" * 70_000, "is larger than 64 KiB, which no secret is"),
    ],
)
def test_a_file_that_cannot_be_meant_is_named_with_what_is_wrong(till: Path, content: bytes | None, said: str):
    if content is None:
        till.unlink()
    else:
        till.write_bytes(content)
    with pytest.raises(SettingsInvalid) as invalid:
        settings_from_environment(Kiosk)
    assert str(invalid.value) == f"KIOSK_TILL_FILE: {till} {said}"


def test_control_plane_and_host_take_their_secrets_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    secrets = {
        "CORRAL_DATABASE_URL": "postgresql://corral:secret@db/corral",
        "CORRAL_REDIS_URL": "redis://:secret@cache:6379/0",
        "CORRAL_JOIN_TOKEN": "a token of 16 characters and more",
        "CORRAL_HOST_AGENT_MODEL_KEY": "a key",
    }
    for name, secret in secrets.items():
        (tmp_path / name).write_text(secret)
        monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    monkeypatch.setenv("CORRAL_API_URL", "http://api:7700")
    control, host = settings_from_environment(Settings), settings_from_environment(HostSettings)
    found = (control.database_url, control.redis_url, control.join_token, host.agent_model_key)
    assert [one.get_secret_value() for one in found if one is not None] == list(secrets.values())
    assert host.join_token == control.join_token
