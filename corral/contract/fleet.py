"""Hosts, devices and keys as the public API speaks of them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from corral.contract.models import Line, Strict, Tolerant


class Scope(StrEnum):
    """What a key may do. Whoever may submit tasks may cancel any task."""

    TASKS_SUBMIT = "tasks:submit"
    TASKS_READ = "tasks:read"
    HOSTS_READ = "hosts:read"
    HOSTS_ADMIN = "hosts:admin"
    KEYS_ADMIN = "keys:admin"


class DeviceState(StrEnum):
    """Whether a device can be worked with, as its host last said. Only a `ready` one gets tasks."""

    READY = "ready"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    AUTHORIZING = "authorizing"
    NO_PERMISSIONS = "no_permissions"
    CONNECTING = "connecting"
    RECOVERY = "recovery"
    PARKED = "parked"
    ABSENT = "absent"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "DeviceState":  # noqa: ARG003 - the signature is enum's
        # A newer host may know states that we do not; its device is shown, and gets no tasks.
        return cls.UNKNOWN


class HostView(Tolerant):
    host_id: UUID
    name: str
    is_online: bool
    is_draining: bool
    last_seen_at: datetime | None
    registered_at: datetime
    labels: dict[str, str]
    version: str | None
    devices: int
    running: int = Field(description="Leases that this host holds now.")
    is_revoked: bool = Field(default=False, description="Its credential is void, so it gets no tasks.")


class HostList(Tolerant):
    hosts: list[HostView]


class DrainRequest(Strict):
    """`draining: true`: the host takes no more tasks and finishes those it has; `false` ends that."""

    draining: bool = True


class DeviceView(Tolerant):
    device_id: UUID
    host_id: UUID
    host_name: str
    serial: str
    state: DeviceState
    remedy: str | None = Field(description="What a person can do about a state that is not `ready`.")
    is_online: bool = Field(description="Its host is online and the device is ready.")
    task_id: UUID | None = Field(description="The task that holds the device now.")
    model: str | None
    manufacturer: str | None
    android_version: str | None
    battery_level: int | None
    labels: dict[str, str]
    facts: dict[str, Any]
    last_seen_at: datetime


class DeviceList(Tolerant):
    devices: list[DeviceView]


class ApiKeyRequest(Strict):
    name: Line
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]


class ApiKeyCreated(Tolerant):
    """`api_key` is shown this once: only its hash is stored."""

    key_id: str
    name: str
    scopes: list[Scope]
    api_key: str
    created_at: datetime


class ApiKeyView(Tolerant):
    key_id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    revoked_at: datetime | None


class ApiKeyList(Tolerant):
    keys: list[ApiKeyView]
