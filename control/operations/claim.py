"""Hand assigned tasks to their host, each under a lease of its own."""

from typing import Any
from uuid import UUID

from control.domain.errors import HostNotFound, StaleIncarnation
from control.operations.plane import Plane
from control.store import claims, transitions
from control.store.claims import retried_when_answered_at_once
from control.store.database import Transaction
from control.store.events import Event, record_events
from corral.contract.history import TaskEventKind
from corral.contract.host_protocol import Assignment, ClaimReply, ClaimRequest
from corral.contract.identifiers import uuid7
from corral.failpoints import failpoint
from corral.traces.spans import work


@retried_when_answered_at_once
def claim_assignments(plane: Plane, host_id: UUID, request: ClaimRequest) -> list[Assignment]:
    """The next tasks for the host's free devices, at most `max_assignments`; none where there is nothing now.

    The same `claim_id` gets the same tasks and leases again, renewed: whoever asks again has not begun yet, and must
    not find that the time in which the first reply was lost is missing. What has ended since then is left out.

    Raises:
        StaleIncarnation: a later process of this host has announced itself.
    """
    with work("claim", host_id=host_id) as traced:
        assignments = _claim(plane, host_id, request)
        for one in assignments:
            traced.serve(one.task_id, attempt=one.attempt, serial=one.device_serial)
        return assignments


def _claim(plane: Plane, host_id: UUID, request: ClaimRequest) -> list[Assignment]:
    with plane.database.statement() as tx:
        look = transitions.dispatch(
            tx,
            host_id=host_id,
            claim_id=request.claim_id,
            incarnation=request.incarnation,
            serials=request.free_devices,
            lease_ids=[uuid7() for _ in request.free_devices[: request.max_assignments]],
            lease_seconds=plane.timing.lease_seconds,
        )
        if look is None:
            raise HostNotFound(f"there is no host {host_id}")
        if (look["is_repeated"] or look["has_work"]) and look["incarnation"] != request.incarnation:
            raise StaleIncarnation(
                "this incarnation of the host is not the current one; send a heartbeat first, or end this process",
                current=str(look["incarnation"]),
            )
        if look["is_repeated"]:
            return claimed_before(plane, tx, host_id, request.claim_id)
    if look["claimed"] is None:
        return []
    failpoint("claim.committed")
    return assignments_of(plane, look["claimed"])


def hosts_with_assignments(plane: Plane) -> frozenset[UUID]:
    """The hosts for which a claim would find something, whichever device it is for."""
    with plane.database.statement() as tx:
        return claims.hosts_with_assignments(tx)


def claimed_before(plane: Plane, tx: Transaction, host_id: UUID, claim_id: UUID) -> list[Assignment]:
    """What an earlier request with this claim id was given and still has, in the order of then, renewed."""
    claimed = claims.renew_claim(tx, host_id=host_id, claim_id=claim_id, lease_seconds=plane.timing.lease_seconds)
    assignments = assignments_of(plane, claimed)
    events = [
        Event(TaskEventKind.CANCEL_DELIVERED, one.task_id, one.attempt) for one in assignments if one.cancel_requested
    ]
    record_events(tx, events, actor=f"host:{host_id}")
    return assignments


def assignments_of(plane: Plane, claimed: list[dict[str, Any]]) -> list[Assignment]:
    """The words for the host. Each lease has just been written, so all of its length remains."""
    lease_seconds = plane.timing.lease_seconds
    remaining = {"lease_remaining_ms": round(lease_seconds * 1000), "lease_seconds": lease_seconds}
    return [Assignment.model_validate(to_run | remaining) for to_run in claimed]


def claim_reply(assignments: list[Assignment], *, held_ms: int) -> ClaimReply:
    """The answer to a claim that was held for so long."""
    return ClaimReply(
        assignment=assignments[0] if assignments else None, further_assignments=assignments[1:], held_ms=held_ms
    )
