"""What every operation needs to do its work, made once by the entry point."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from control.artifacts import ArtifactFolder
from control.domain.suitability import Suitability
from control.operations.waiting import WaitingReasons
from control.signals.words import LeaseOf
from control.store.database import Database


class Job(StrEnum):
    """The jobs that can be rung by name, without knowing who runs them."""

    ASSIGN_TASKS = "assign_tasks"
    SETTLE_CANCELS = "settle_cancels"
    RECONCILE_CANCELS = "reconcile_cancels"


class Doorbell(Protocol):
    """Asks for a job to be run soon. A lost ring costs a sweep's period and nothing else, so it never raises."""

    def ring(self, job: Job) -> None: ...


class Wakeups(Protocol):
    """Tells the API processes what was committed. It never raises, is bounded in time, and may be lost."""

    def wake_hosts(self, host_ids: Iterable[UUID]) -> None:
        """There may be something to claim for these hosts."""

    def tell_cancels(self, leases: Iterable[LeaseOf]) -> bool:
        """Somebody wants the tasks of these leases stopped. False where it was not taken, and is to be said again."""
        ...

    def tell_leases_ended(self, leases: Iterable[LeaseOf], *, holder_knows: bool = False) -> None:
        """These leases are over; `holder_knows` where a host has ended its own, and need not be woken for it."""

    def drop_tokens(self, token_ids: Iterable[str]) -> None:
        """What was verified for `key:<id>` or `host:<id>` is void."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The lengths of time that decide about leases and hosts, in seconds."""

    #: Three missed renewals end a lease: one is a hiccup, two a slow screenshot.
    lease_seconds: float = 30.0
    #: No action on a device is given longer than this, so a run that lost its lease has stopped after it.
    longest_action_seconds: float = 30.0
    #: A host that polls takes an assignment within milliseconds; one that does not is busy or gone.
    claim_limit_seconds: float = 30.0
    #: Three missed heartbeats: the host's assigned tasks go back to the queue.
    host_silence_seconds: float = 30.0
    heartbeat_seconds: float = 10.0
    #: How long finished tasks are kept.
    retention_days: float = 30.0

    @property
    def reap_after_seconds(self) -> float:
        """How long after its expiry a lease is reaped: by then the host's own guard has stopped the run for sure."""
        return self.lease_seconds / 10 + self.longest_action_seconds

    @property
    def cancel_limit_seconds(self) -> float:
        """How long after its request a cancel has ended its task: a host that has gone has lost its lease by then.

        The reaper looks every five seconds, and one look may be lost.
        """
        return self.lease_seconds + self.reap_after_seconds + 10.0


@dataclass(frozen=True, slots=True)
class Plane:
    database: Database
    doorbell: Doorbell
    wakeups: Wakeups
    artifacts: ArtifactFolder
    timing: Timing = field(default_factory=Timing)
    suitability: Suitability = field(default_factory=Suitability)
    waiting: WaitingReasons = field(default_factory=WaitingReasons)
