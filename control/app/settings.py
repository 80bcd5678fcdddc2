"""The control plane's settings, read once by the entry point from environment variables `CORRAL_…`."""

from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from control.jobs.schedule import JobQueue
from control.operations.plane import Timing
from control.signals.client import redis_url
from control.store.database import psycopg_url
from corral.contract.models import Line
from corral.logs import LogFormat, LogLevel

MIN_JOIN_TOKEN_LENGTH = 16
_TIMING = Timing()

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Settings(BaseSettings):
    """Each is an environment variable: `CORRAL_` and the name in capitals."""

    model_config = SettingsConfigDict(
        env_prefix="CORRAL_", extra="ignore", frozen=True, hide_input_in_errors=True, env_ignore_empty=True
    )

    database_url: SecretStr = Field(description="Postgres 15 or newer, as `postgresql://user:password@host:5432/name`.")
    redis_url: SecretStr = Field(description="One Redis 7 or Valkey server, as `redis://:password@host:6379/0`.")
    join_token: SecretStr | None = Field(
        default=None,
        description="The token with which device hosts enrol, at least 16 characters; without it no host can join.",
    )
    artifacts_dir: Path = Field(
        default_factory=lambda: user_data_path("corral") / "artifacts",
        description="The folder for screenshots and files of runs; all API processes must share it.",
    )
    address: str = Field(default="127.0.0.1", description="The address that the API listens on.")
    port: int = Field(
        default=7700, ge=0, le=65_535, description="The port that the API listens on; 0 picks a free one."
    )
    pool_size: int = Field(
        default=20,
        ge=2,
        le=200,
        description="Requests that one API process works on at once, each with a database connection. A process opens"
        " up to 6 more for claims and its own upkeep.",
    )
    celery_submitter: Line | None = Field(
        default=None,
        description="Opens the front door for Celery clients: tasks that they send as `corral.run` are taken in under"
        " this name. Whoever reaches Redis may then submit.",
    )
    celery_queue: Line = Field(
        default="celery",
        description="The queue that the front door takes its messages from, and sends callbacks and next steps to that"
        " name none.",
    )
    jobs_state_file: Path | None = Field(
        default=None,
        description="Where `corral jobs` keeps the ids that Celery clients revoked while Postgres was away, from one"
        " start to the next; each worker needs a file of its own. In memory alone unless set.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65_535,
        description="Where `corral jobs`, `beat` and `bridge` answer `GET /metrics` and `/healthz`, at"
        " `CORRAL_ADDRESS`; not at all unless set. The API does on its own port.",
    )
    log_format: LogFormat = Field(
        default="console", description="`console` for people, `json` (one object per line) for machines."
    )
    log_level: LogLevel = Field(
        default="info",
        description="The least level logged. At `debug` also each request of a host that went well; renewals are only"
        " counted (`GET /metrics`).",
    )
    shutdown_seconds: Seconds = Field(
        default=10.0, description="How long requests that are being answered may go on after a SIGTERM."
    )
    lease_seconds: float = Field(
        default=_TIMING.lease_seconds,
        ge=0.5,
        le=3600,
        description="The length of a lease: how long a host may be silent before its task is taken from it.",
    )
    longest_action_seconds: Seconds = Field(
        default=_TIMING.longest_action_seconds,
        description="The longest a single action on a device can take; expired leases are judged that much later.",
    )
    claim_limit_seconds: Seconds = Field(
        default=_TIMING.claim_limit_seconds,
        description="An assigned task that its host has not claimed after this goes back to the queue.",
    )
    host_silence_seconds: Seconds = Field(
        default=_TIMING.host_silence_seconds, description="A host that is silent for this long is taken for offline."
    )
    heartbeat_seconds: Seconds = Field(
        default=_TIMING.heartbeat_seconds, description="How often hosts are asked to send a heartbeat."
    )
    retention_days: Annotated[float, Field(gt=0, le=3650)] = Field(
        default=_TIMING.retention_days, description="How long finished tasks and their artifacts are kept."
    )

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, url: SecretStr) -> SecretStr:
        psycopg_url(url.get_secret_value())
        return url

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr) -> SecretStr:
        redis_url(url.get_secret_value())
        return url

    @field_validator("celery_queue")
    @classmethod
    def _is_no_queue_of_jobs(cls, name: str) -> str:
        if name in set(JobQueue):
            raise ValueError("must not be 'jobs' or 'reap', where Corral's own jobs are")
        return name

    @field_validator("join_token")
    @classmethod
    def _is_long_enough(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and len(token.get_secret_value()) < MIN_JOIN_TOKEN_LENGTH:
            raise ValueError(f"must have at least {MIN_JOIN_TOKEN_LENGTH} characters, or hosts could be made up")
        return token

    @property
    def timing(self) -> Timing:
        return Timing(
            lease_seconds=self.lease_seconds,
            longest_action_seconds=self.longest_action_seconds,
            claim_limit_seconds=self.claim_limit_seconds,
            host_silence_seconds=self.host_silence_seconds,
            heartbeat_seconds=self.heartbeat_seconds,
            retention_days=self.retention_days,
        )
