"""How an action ended. There are three ways, and the third is not a kind of the second."""

from dataclasses import dataclass
from enum import StrEnum


class ErrorCode(StrEnum):
    """Why an action or an observation failed: a closed list."""

    DEVICE_OFFLINE = "device_offline"
    DEVICE_UNAUTHORIZED = "device_unauthorized"
    TRANSPORT_LOST = "transport_lost"
    TIMEOUT = "timeout"
    NOT_FOUND = "not_found"
    OUT_OF_BOUNDS = "out_of_bounds"
    APP_NOT_INSTALLED = "app_not_installed"
    APP_NOT_LAUNCHABLE = "app_not_launchable"
    INVALID_URL = "invalid_url"
    INPUT_NOT_PERMITTED = "input_not_permitted"
    TEXT_UNSUPPORTED = "text_unsupported"
    TREE_UNAVAILABLE = "tree_unavailable"
    SCREENSHOT_UNAVAILABLE = "screenshot_unavailable"
    COMMAND_FAILED = "command_failed"
    LEASE_LOST = "lease_lost"

    @property
    def is_infrastructure(self) -> bool:
        """The device or the way to it failed, not the task: another attempt may succeed."""
        return self in _INFRASTRUCTURE

    @property
    def ends_a_run(self) -> bool:
        """The device, or the right to touch it, is gone: whatever comes next would fail as well."""
        return self.is_infrastructure or self is ErrorCode.LEASE_LOST


_INFRASTRUCTURE = frozenset({ErrorCode.DEVICE_OFFLINE, ErrorCode.DEVICE_UNAUTHORIZED, ErrorCode.TRANSPORT_LOST})

#: Those that end a run, for whoever has a code as a text among others.
ENDING_CODES: frozenset[str] = frozenset(code for code in ErrorCode if code.ends_a_run)


@dataclass(frozen=True, slots=True)
class Done:
    """The phone did it and said so."""

    output: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The phone did not do it, and this is why."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was sent and the answer was lost: it may have happened, so it is never blindly repeated."""

    code: ErrorCode
    message: str


Outcome = Done | Failed | Unknown
