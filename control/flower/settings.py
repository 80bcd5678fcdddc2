"""The settings of `corral flower`, read once from the environment by its entry point."""

import ipaddress
import re

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from control.signals.client import redis_url
from corral.logs import LogFormat, LogLevel

MIN_PASSWORD_LENGTH = 8
#: What Flower can compare: printable ASCII. A comma would end the entry, a colon the name.
_USER = re.compile(r"(?P<name>[!-+\--9;-~]+):(?P<password>[!-+\--~]+)")
_URL_PREFIX = re.compile(r"/?[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*/?")


class FlowerSettings(BaseSettings):
    """Each is an environment variable: `CORRAL_FLOWER_` and the name in capitals, where no other is given."""

    model_config = SettingsConfigDict(
        env_prefix="CORRAL_FLOWER_",
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        env_ignore_empty=True,
    )

    redis_url: SecretStr = Field(
        validation_alias="CORRAL_REDIS_URL",
        description="The Redis of the control plane, as `redis://:password@host:6379/0`.",
    )
    address: str = Field(
        default="127.0.0.1", min_length=1, description="The address that Flower listens on; not loopback needs users."
    )
    port: int = Field(default=7755, ge=0, le=65_535, description="The port that Flower listens on; 0 picks a free one.")
    users: SecretStr = Field(
        default=SecretStr(""),
        validate_default=True,
        description="Who may log in, as `name:password` with commas between; passwords have at least 8 characters."
        " Without users Flower only shows, and has no buttons and no HTTP API.",
    )
    url_prefix: str = Field(
        default="", description="The path that Flower is served under by a proxy in front of it, such as `flower`."
    )
    max_tasks: int = Field(
        default=20_000, ge=100, le=1_000_000, description="How many tasks Flower remembers; the oldest are forgotten."
    )
    log_format: LogFormat = Field(
        default="console",
        validation_alias="CORRAL_LOG_FORMAT",
        description="`console` for people, `json` (one object per line) for machines.",
    )
    log_level: LogLevel = Field(
        default="info", validation_alias="CORRAL_LOG_LEVEL", description="The least level logged."
    )

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr) -> SecretStr:
        redis_url(url.get_secret_value())
        return url

    @field_validator("users")
    @classmethod
    def _are_users(cls, users: SecretStr, info: ValidationInfo) -> SecretStr:
        entries = _entries(users)
        for entry in entries:
            shape = _USER.fullmatch(entry)
            if shape is None:
                raise ValueError("must be name:password,name:password in printable ASCII without spaces")
            if len(shape["password"]) < MIN_PASSWORD_LENGTH:
                raise ValueError(f"each password must have at least {MIN_PASSWORD_LENGTH} characters")
        if not entries and not _is_loopback(info.data.get("address", "127.0.0.1")):
            raise ValueError("must be set where CORRAL_FLOWER_ADDRESS is not loopback: anybody could look in")
        return users

    @field_validator("url_prefix")
    @classmethod
    def _is_path(cls, prefix: str) -> str:
        if prefix and not _URL_PREFIX.fullmatch(prefix):
            raise ValueError("must be a path such as flower or tools/flower")
        return prefix.strip("/")

    @property
    def credentials(self) -> list[str]:
        """The users, each as `name:password`."""
        return _entries(self.users)


def _entries(users: SecretStr) -> list[str]:
    return [entry.strip() for entry in users.get_secret_value().split(",") if entry.strip()]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
