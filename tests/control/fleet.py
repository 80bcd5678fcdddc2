"""Hosts and clients as operations see them: what a test says in one line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from control.operations.assign import assign_tasks
from control.operations.cadence import record_api_alive
from control.operations.cancel import Cancellation, request_task_cancellation
from control.operations.claim import claim_assignments
from control.operations.hosts import heartbeat, register_host
from control.operations.keys import Principal
from control.operations.leases import renew_leases, stale_lease
from control.operations.plane import Job, Plane
from control.operations.results import record_task_result
from control.operations.submit import submit_task
from control.operations.tasks import list_events, show_task
from control.signals.words import LeaseOf
from control.store.json_text import as_json
from control.store.leases import Renewal
from corral.contract.fleet import DeviceState, Scope
from corral.contract.host_protocol import (
    Assignment,
    ClaimRequest,
    Heartbeat,
    HostRegistration,
    LeaseRenewalRequest,
    ReportedDevice,
    TerminalResultRequest,
    TerminalResultResponse,
)
from corral.contract.identifiers import uuid7
from corral.contract.tasks import TaskDetail, TaskSubmission

SUBMITTER = Principal(key_id="tests", actor="key:tests", scopes=frozenset({Scope.TASKS_SUBMIT}))
FLOW = "appId: dev.corral.notes\n---\n- launchApp\n"


@dataclass
class RecordedRings:
    rung: list[Job] = field(default_factory=list)

    def ring(self, job: Job) -> None:
        self.rung.append(job)


@dataclass
class RecordedWakeups:
    woken: list[UUID] = field(default_factory=list)
    cancelled: list[LeaseOf] = field(default_factory=list)
    ended: list[LeaseOf] = field(default_factory=list)
    over: list[LeaseOf] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    def wake_hosts(self, host_ids: Iterable[UUID]) -> None:
        self.woken.extend(host_ids)

    def tell_cancels(self, leases: Iterable[LeaseOf]) -> bool:
        self.cancelled.extend(leases)
        return True

    def tell_leases_ended(self, leases: Iterable[LeaseOf], *, holder_knows: bool = False) -> None:
        (self.over if holder_knows else self.ended).extend(leases)

    def drop_tokens(self, token_ids: Iterable[str]) -> None:
        self.dropped.extend(token_ids)


@dataclass
class Host:
    """One host with its devices, in one life."""

    plane: Plane
    host_id: UUID
    serials: list[str]
    incarnation: UUID = field(default_factory=uuid7)

    def beat(self, *, state: DeviceState = DeviceState.READY, **more: Any) -> Any:
        devices = [ReportedDevice(serial=serial, state=state, model="Pixel 8") for serial in self.serials]
        return heartbeat(self.plane, self.host_id, Heartbeat(incarnation=self.incarnation, devices=devices, **more))

    def restart(self) -> None:
        self.incarnation = uuid7()
        self.beat()

    def claim_request(self, *serials: str, claim_id: UUID | None = None, **more: Any) -> ClaimRequest:
        return ClaimRequest(
            claim_id=claim_id or uuid7(),
            incarnation=self.incarnation,
            free_devices=list(serials) or self.serials,
            wait_ms=0,
            **more,
        )

    def claim(self, *, claim_id: UUID | None = None) -> Assignment | None:
        claimed = claim_assignments(self.plane, self.host_id, self.claim_request(claim_id=claim_id))
        assert len(claimed) <= 1
        return claimed[0] if claimed else None

    def claim_several(self, *, max_assignments: int = 64, claim_id: UUID | None = None) -> list[Assignment]:
        request = self.claim_request(claim_id=claim_id, max_assignments=max_assignments)
        return claim_assignments(self.plane, self.host_id, request)

    def renew(self, assignment: Assignment, **more: Any) -> bool:
        """Renew by its operation; whether a cancel is pending. Raises `StaleLease`."""
        said = LeaseRenewalRequest(**more)
        renewal = Renewal(
            lease_id=str(assignment.lease_id),
            host_id=str(self.host_id),
            progress=as_json(said.progress.model_dump()) if said.progress else None,
            cancel_seen=said.cancel_seen,
        )
        (cancelled,) = renew_leases(self.plane, [renewal]).cancelled
        if cancelled is None:
            raise stale_lease(assignment.lease_id)
        return cancelled

    def renew_all(self, *assignments: Assignment) -> list[bool | None]:
        """Renew several in one statement; for each whether a cancel is pending, None where it has ended."""
        return renew_leases(
            self.plane, [Renewal(str(one.lease_id), str(self.host_id)) for one in assignments]
        ).cancelled

    def report(self, assignment: Assignment, status: str, **more: Any) -> TerminalResultResponse:
        report = TerminalResultRequest.model_validate({"status": status, **more})
        return record_task_result(self.plane, self.host_id, assignment.lease_id, report)


@dataclass
class Fleet:
    plane: Plane

    def host(self, *serials: str, name: str = "bench") -> Host:
        registered = register_host(self.plane, HostRegistration(name=name))
        host = Host(self.plane, registered.host_id, list(serials) or ["PHONE1"])
        host.beat()
        return host

    def submit(self, **more: Any) -> UUID:
        submission = TaskSubmission.model_validate({"kind": "flow", "flow": FLOW, **more})
        return submit_task(self.plane, submission, principal=SUBMITTER, idempotency_key=None).task.task_id

    def assign(self) -> int:
        return assign_tasks(self.plane)

    def running(self, host: Host, **more: Any) -> Assignment:
        """A task that the host has just claimed."""
        self.submit(**more)
        self.assign()
        assignment = host.claim()
        assert assignment is not None
        return assignment

    def cancel(self, task_id: UUID, *, reason: str | None = None, actor: str = "key:tests") -> Cancellation:
        return request_task_cancellation(self.plane, task_id, actor=actor, reason=reason)

    def show(self, task_id: UUID) -> TaskDetail:
        return show_task(self.plane, task_id)

    def kinds(self, task_id: UUID) -> list[str]:
        """The audit trail of a task, in short."""
        return [event.kind.value.removeprefix("task.") for event in list_events(self.plane, task_id).events]

    def make_old(self, minutes: Mapping[UUID, int]) -> None:
        """Let tasks have been submitted so long ago, whatever their ids say."""
        with self.plane.database.transaction() as tx:
            tx.run(
                """
                UPDATE scheduled_tasks AS task
                SET created_at = date_trunc('hour', corral_now()) - make_interval(mins => aged.minutes)
                FROM unnest(CAST(:ids AS uuid[]), CAST(:minutes AS integer[])) AS aged (task_id, minutes)
                WHERE task.task_id = aged.task_id
                """,
                ids=list(minutes),
                minutes=list(minutes.values()),
            )

    def expire(self, assignment: Assignment) -> None:
        """Let time run out for a lease, and the API have been there all the while."""
        with self.plane.database.transaction() as tx:
            tx.run(
                "UPDATE leases SET expires_at = corral_now() - interval '1 hour' WHERE lease_id = :lease_id",
                lease_id=assignment.lease_id,
            )
        self.api_has_been_up()

    def api_has_been_up(self, *, for_seconds: float = 3600) -> None:
        record_api_alive(self.plane)
        with self.plane.database.transaction() as tx:
            tx.run(
                """
                UPDATE job_runs SET unbroken_since = corral_now() - make_interval(secs => :seconds) WHERE name = 'api'
                """,
                seconds=for_seconds,
            )
