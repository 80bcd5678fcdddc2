"""The settings of a host, read once from the environment by its entry point."""

import socket
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import AnyHttpUrl, Field, SecretStr, TypeAdapter, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from corral.contract.models import LabelKey, LabelValue, Line
from corral.logs import LogFormat, LogLevel

_URL = TypeAdapter(AnyHttpUrl)


def _default_state_dir() -> Path:
    return platformdirs.user_state_path("corral") / "host"


class HostSettings(BaseSettings):
    """Each is an environment variable: `CORRAL_HOST_` and the name in capitals, where no other is given."""

    model_config = SettingsConfigDict(
        env_prefix="CORRAL_HOST_", populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    api_url: str = Field(
        validation_alias="CORRAL_API_URL",
        description="Where the control plane's API is: `http://127.0.0.1:7700`. The host only ever calls out to it.",
    )
    join_token: SecretStr | None = Field(
        default=None,
        validation_alias="CORRAL_JOIN_TOKEN",
        description="Enrols the host on its first start; not needed once its state folder holds a credential.",
    )
    name: Line = Field(default_factory=socket.gethostname, description="How people know this host.")
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="For tasks to ask for, on all devices of this host; as JSON."
    )
    state_dir: Path = Field(
        default_factory=_default_state_dir,
        description="The host's folder: lock, credential, undelivered reports, adb's own files. One for each host.",
    )
    adb_port: int = Field(
        default=0, ge=0, le=65_535, description="Port of the host's own adb server; 0 picks a free one. Never 5037."
    )
    adb_connect: Annotated[list[str], NoDecode] = Field(
        default_factory=list, description="Phones to reach over TCP: `host:port`, separated by commas."
    )
    adb_finds_usb: bool = Field(default=True, description="Whether phones on USB are this host's.")
    adb_finds_emulators: bool = Field(
        default=True, description="Whether emulators on ports 5555 to 5585 of this machine are this host's."
    )
    drain_limit_seconds: float = Field(
        default=600.0,
        ge=0,
        description="How long work may go on after the first SIGTERM; what is left is stopped, to be run elsewhere.",
    )
    agent_model: Line | None = Field(
        default=None,
        description="The model that thinks for goals, such as `openai:gpt-5`, `anthropic:…`, `google:…` or "
        "`compatible:NAME`; keys come from the provider's own variables. Without it, only scripted goals run here.",
    )
    agent_model_url: str | None = Field(
        default=None, description="Where the model is, for `compatible:…` or a proxy: `http://127.0.0.1:8080/v1`."
    )
    agent_model_key: SecretStr | None = Field(
        default=None, description="The key for the model, where the provider's own variable is not to be used."
    )
    agent_takes_images: bool | None = Field(
        default=None, description="Whether the model is shown screenshots; what its provider says of it where not set."
    )
    agent_ask: str | None = Field(
        default=None,
        description="Another agent that agents may ask, as NAME=COMMAND; it speaks the Agent Client Protocol.",
    )
    agent_secrets_file: Path | None = Field(
        default=None,
        description="Texts that agents may type and nobody may read: a `.toml` or `.json` file of names and values.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65_535,
        description="Where the host answers `GET /metrics` and `/healthz`; not at all unless set.",
    )
    metrics_address: str = Field(default="127.0.0.1", description="The address for that port; nothing else listens.")
    log_format: LogFormat = Field(default="console", description="How log lines look.")
    log_level: LogLevel = Field(default="info", description="What is logged.")

    @field_validator("api_url")
    @classmethod
    def _is_http(cls, api_url: str) -> str:
        _URL.validate_python(api_url)
        return api_url

    @field_validator("agent_ask")
    @classmethod
    def _names_an_agent(cls, agent_ask: str | None) -> str | None:
        from workers.agent.subagents.remote_agent import parse_remote_agent

        if agent_ask is not None:
            parse_remote_agent(agent_ask)
        return agent_ask

    @field_validator("adb_port")
    @classmethod
    def _is_not_taken(cls, adb_port: int) -> int:
        from workers.device.adb_server import DEFAULT_ADB_PORT

        if adb_port == DEFAULT_ADB_PORT:
            raise ValueError(f"port {adb_port} belongs to the adb that people use by hand; choose another, or 0")
        return adb_port

    @field_validator("adb_connect", mode="before")
    @classmethod
    def _split(cls, addresses: Any) -> Any:
        if isinstance(addresses, str):
            return [address.strip() for address in addresses.split(",") if address.strip()]
        return addresses

    @field_validator("adb_connect")
    @classmethod
    def _are_addresses(cls, addresses: list[str]) -> list[str]:
        for address in addresses:
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal():
                raise ValueError(f"'{address}' is no address of a phone; write host:port, such as 192.168.1.20:5555")
        return addresses
