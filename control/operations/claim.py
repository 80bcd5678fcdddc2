"""Hand an assigned task to its host, under a lease."""

from uuid import UUID

from sqlalchemy import RowMapping

from control.domain.errors import HostNotFound, StaleIncarnation
from control.operations.plane import Plane
from control.store import attempts, hosts, leases, transitions
from control.store.database import Transaction
from control.store.events import Event, record_events
from control.store.tasks import has_assignments, task_to_run
from corral.contract.history import TaskEventKind
from corral.contract.host_protocol import Assignment, ClaimRequest
from corral.contract.identifiers import uuid7
from corral.failpoints import failpoint


def claim_assignment(plane: Plane, host_id: UUID, request: ClaimRequest) -> Assignment | None:
    """The next task for one of the host's free devices, or None where there is nothing now.

    The same `claim_id` gets the same task and lease again, renewed: whoever asks again has not begun yet, and must not
    find that the time in which the first reply was lost is missing.

    Raises:
        StaleIncarnation: a later process of this host has announced itself.
    """
    with plane.database.transaction() as tx:
        earlier = attempts.attempt_by_claim(tx, host_id=host_id, claim_id=request.claim_id)
        if earlier is None and not has_assignments(tx, host_id):
            return None
    assignment = _claim(plane, host_id, request)
    failpoint("claim.committed")
    return assignment


def _claim(plane: Plane, host_id: UUID, request: ClaimRequest) -> Assignment | None:
    with plane.database.transaction() as tx:
        _must_be_current(tx, host_id, request.incarnation)
        earlier = attempts.attempt_by_claim(tx, host_id=host_id, claim_id=request.claim_id)
        if earlier is not None:
            return _again(plane, tx, host_id, earlier["lease_id"])
        lease_id = uuid7()
        task = transitions.dispatch(tx, host_id=host_id, serials=request.free_devices, lease_id=lease_id)
        if task is None:
            return None
        _begin_attempt(plane, tx, task, lease_id, request)
        return _assignment(plane, tx, host_id, task["task_id"], task["attempt"], lease_id)


def _again(plane: Plane, tx: Transaction, host_id: UUID, lease_id: UUID) -> Assignment | None:
    lease = leases.renew_lease(
        tx, lease_id=lease_id, host_id=host_id, lease_seconds=plane.timing.lease_seconds, progress=None
    )
    # No lease: it has ended in the meantime, and so has the attempt.
    return _assignment(plane, tx, host_id, lease["task_id"], lease["attempt"], lease_id) if lease else None


def _begin_attempt(plane: Plane, tx: Transaction, task: RowMapping, lease_id: UUID, request: ClaimRequest) -> None:
    attempts.insert_attempt(
        tx,
        task_id=task["task_id"],
        attempt=task["attempt"],
        lease_id=lease_id,
        host_id=task["host_id"],
        device_id=task["device_id"],
        claim_id=request.claim_id,
    )
    leases.insert_lease(
        tx,
        lease_id=lease_id,
        task_id=task["task_id"],
        attempt=task["attempt"],
        host_id=task["host_id"],
        device_id=task["device_id"],
        incarnation=request.incarnation,
        lease_seconds=plane.timing.lease_seconds,
    )


def _must_be_current(tx: Transaction, host_id: UUID, incarnation: UUID) -> None:
    host = hosts.lock_host(tx, host_id)
    if host is None:
        raise HostNotFound(f"there is no host {host_id}")
    if host["incarnation"] != incarnation:
        raise StaleIncarnation(
            "this incarnation of the host is not the current one; send a heartbeat first, or end this process",
            current=str(host["incarnation"]),
        )


def _assignment(
    plane: Plane, tx: Transaction, host_id: UUID, task_id: UUID, attempt: int, lease_id: UUID
) -> Assignment:
    row = task_to_run(tx, task_id)
    if row["cancel_requested"]:
        record_events(tx, [Event(TaskEventKind.CANCEL_DELIVERED, task_id, attempt)], actor=f"host:{host_id}")
    return Assignment(
        task_id=task_id,
        attempt=attempt,
        lease_id=lease_id,
        lease_expires_at=row["expires_at"],
        lease_remaining_ms=row["remaining_ms"],
        lease_seconds=plane.timing.lease_seconds,
        cancel_requested=row["cancel_requested"],
        device_serial=row["serial"],
        kind=row["kind"],
        name=row["name"],
        flow=row["flow"],
        goal=row["goal"],
        verify=row["verify"],
        agent=row["agent"],
        files=row["files"],
        env=row["env"],
        timeout_seconds=row["timeout_seconds"],
    )
