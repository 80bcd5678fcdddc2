"""What a host and the control plane say to each other, under `/internal/v1`. The host always calls, never listens.

    host                                   control plane
     │ register(join token) ──────────────► host id, credential          once in the life of a host
     │ heartbeat(incarnation, devices) ───► draining?                    every few seconds
     │ claim(claim_id, free devices) ─────► assignments, or nothing      a long poll of at most 25 s
     │ renew(progress, cancel_seen) ──────► remaining ms, cancel_requested    one lease, answered at once
     │ renew(leases, wait_ms) ────────────► the same for each lease      held until one is cancelled or lost
     │ artifacts …  result(status) ───────► recorded | already_recorded  repeated until acknowledged
     │              and with it a claim ──► assignment, or nothing       for the device that the report frees

`cancel_requested` is a level: it is in every reply about a lease until the task has ended. Times are remaining
milliseconds; the host counts them from the moment at which it *sent* the request, so no two clocks are compared.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from corral.contract.cancellation import StoppedBy
from corral.contract.fleet import DeviceState
from corral.contract.goals import AgentView
from corral.contract.history import FailureCause
from corral.contract.models import Line, Text, Told, Tolerant
from corral.contract.tasks import Progress, TaskKind

#: A claim may be held open this long: below the idle limits of common proxies (30 s).
MAX_CLAIM_HOLD_MS = 25_000
#: The same for a renewal of all leases of a host.
MAX_RENEWAL_HOLD_MS = 25_000
#: More phones than anybody connects to one machine; a larger host renews in several requests.
MAX_LEASES_IN_A_RENEWAL = 256
MAX_ASSIGNMENTS_IN_A_CLAIM = 64


def _percent(level: int | None) -> int | None:
    """Phones without a battery say -1, and odd ones anything; what is no percentage is not known."""
    return level if level is not None and 0 <= level <= 100 else None  # noqa: PLR2004


class HostRegistration(Tolerant):
    """`POST hosts/register`, with the join token as the bearer."""

    name: Line
    labels: dict[str, str] = Field(default_factory=dict)
    version: str | None = None
    facts: dict[str, Any] = Field(default_factory=dict)


class HostRegistered(Tolerant):
    """`credential` is the bearer of every later call, good for this `host_id` alone; it is shown this once."""

    host_id: UUID
    credential: str


class ReportedDevice(Tolerant):
    """One device as its host sees it. `serial` names it on the wire, and is unique on its host."""

    serial: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    state: DeviceState
    remedy: Told | None = None
    model: Told | None = None
    manufacturer: Told | None = None
    android_version: Told | None = None
    battery_level: Annotated[int | None, AfterValidator(_percent)] = None
    labels: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, Any] = Field(default_factory=dict)


class Heartbeat(Tolerant):
    """`POST hosts/{host_id}/heartbeat`: a fresh `incarnation` ends the leases of the former one."""

    incarnation: UUID
    draining: bool = False
    devices: list[ReportedDevice] = Field(default_factory=list[ReportedDevice])
    labels: dict[str, str] = Field(default_factory=dict)
    version: str | None = None
    supported_commands: list[str] = Field(
        default_factory=list, description="Commands of flows, and `goal` where the host runs tasks of that kind."
    )


class HeartbeatReply(Tolerant):
    draining: bool = Field(description="An operator wants this host to finish its work and take no more.")
    heartbeat_after_ms: int
    lease_seconds: float


class ClaimRequest(Tolerant):
    """`POST hosts/{host_id}/claim`. The same `claim_id` gets the same answer; after a decoded reply take another."""

    claim_id: UUID
    incarnation: UUID
    free_devices: list[str] = Field(description="Serials of devices whose last run has settled and was acknowledged.")
    wait_ms: int = Field(default=MAX_CLAIM_HOLD_MS, ge=0, le=MAX_CLAIM_HOLD_MS)
    max_assignments: int = Field(
        default=1, ge=1, le=MAX_ASSIGNMENTS_IN_A_CLAIM, description="How many tasks one answer may carry."
    )


class Assignment(Tolerant):
    """A task given to one device, and the lease to work on it."""

    task_id: UUID
    attempt: int
    lease_id: UUID
    lease_expires_at: datetime = Field(
        description="By Postgres' clock, for people; a host counts `lease_remaining_ms`."
    )
    lease_remaining_ms: int
    lease_seconds: float
    cancel_requested: bool = False
    device_serial: str
    kind: TaskKind
    name: str | None = None
    flow: str | None = None
    goal: str | None = None
    verify: str | None = None
    agent: AgentView | None = None
    files: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    timeout_seconds: int | None = None


class ClaimReply(Tolerant):
    assignment: Assignment | None
    further_assignments: list[Assignment] = Field(
        default_factory=list[Assignment], description="For other devices, where the request asked for more than one."
    )
    held_ms: int = Field(description="How long the request was held before the leases were written.")

    @property
    def assignments(self) -> list[Assignment]:
        """All of them, each for a device of its own."""
        return [*([self.assignment] if self.assignment else []), *self.further_assignments]


class LeaseRenewalRequest(Tolerant):
    """`POST leases/{lease_id}/renew`."""

    progress: Progress | None = None
    cancel_seen: bool = False


class LeaseRenewalResponse(Tolerant):
    """The lease lives on. `cancel_requested` stays true until the task has ended."""

    status: Literal["renewed"] = "renewed"
    lease_id: UUID
    lease_expires_at: datetime
    lease_remaining_ms: int
    held_ms: int = 0
    renew_after_ms: int
    cancel_requested: bool = False


class HeldLease(Tolerant):
    """One lease in a renewal of all leases of a host."""

    lease_id: UUID
    progress: Progress | None = None
    cancel_seen: bool = Field(
        default=False, description="The cancel of this task is known: it is no news that would end the wait."
    )


class HostRenewalRequest(Tolerant):
    """`POST hosts/{host_id}/renew`: all leases of a host in one request.

    It is held open for up to `wait_ms`, and answered early when one of the leases is cancelled or lost. A later request
    of the same host lets an earlier one go.
    """

    leases: list[HeldLease] = Field(min_length=1, max_length=MAX_LEASES_IN_A_RENEWAL)
    wait_ms: int = Field(default=0, ge=0, le=MAX_RENEWAL_HOLD_MS)


class RenewedLease(Tolerant):
    """What became of one lease: `renewed`, or `stale` when it has ended or is another host's."""

    status: Literal["renewed", "stale"]
    lease_id: UUID
    lease_expires_at: datetime | None = Field(
        default=None, description="By Postgres' clock, for people; a host counts `lease_remaining_ms`."
    )
    lease_remaining_ms: int = 0
    cancel_requested: bool = False


class HostRenewalResponse(Tolerant):
    """One entry for each lease of the request, in its order."""

    leases: list[RenewedLease]
    held_ms: int = Field(description="How long the request was held before the leases were renewed.")
    renew_after_ms: int = Field(description="0 when the next request will be held again.")
    other_leases: list[UUID] = Field(
        default_factory=list[UUID], description="Leases that the control plane believes this host to have as well."
    )


class TerminalResultRequest(Tolerant):
    """`POST leases/{lease_id}/result`: what came of the run. The control plane makes the task's status of it."""

    status: Literal["done", "failed", "cancelled"]
    cause: FailureCause | None = Field(
        default=None, description="Needed for `failed`; read as `task` where it is missing."
    )
    failure_reason: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    stopped_by: StoppedBy | None = None
    result: dict[str, Any] | None = None
    progress: Progress | None = None
    next_claim: ClaimRequest | None = Field(
        default=None,
        description="A claim for the device that this report frees, answered in the same reply and never held.",
    )


class TerminalResultResponse(Tolerant):
    status: Literal["recorded", "already_recorded"]
    task_id: UUID
    task_status: str
    claimed: ClaimReply | None = Field(
        default=None, description="The answer to `next_claim`; missing where it was not asked or not looked at."
    )


class ArtifactStored(Tolerant):
    name: str
    size_bytes: int
    sha256: str
    is_late: bool
