"""Take in what came of a run, and hand out the next task for the device that it frees."""

from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.domain.errors import CancelNotRequested, ResultConflict
from control.domain.requirements import device_labels, unmet
from control.operations.assign import ring_for_capacity
from control.operations.claim import assignments_of, claim_reply, claimed_before
from control.operations.leases import stale_lease
from control.operations.plane import Plane
from control.signals.words import LeaseOf
from control.store import attempts, claims, transitions
from control.store.claims import MAX_CLASSES, retried_when_answered_at_once
from control.store.database import Transaction
from control.store.transitions import Ending
from corral.contract.cancellation import StoppedBy
from corral.contract.fleet import DeviceState
from corral.contract.history import AttemptStatus, FailureCause
from corral.contract.host_protocol import (
    Assignment,
    ClaimRequest,
    TerminalResultRequest,
    TerminalResultResponse,
)
from corral.contract.identifiers import uuid7
from corral.contract.tasks import Requirement
from corral.failpoints import failpoint
from corral.traces.spans import work

#: What is said of a failure for which the host gave no reason.
_NO_REASON: dict[FailureCause | None, str] = {
    FailureCause.TASK: "the host gave no reason",
    FailureCause.INFRASTRUCTURE: "the host or its device failed",
}


def record_task_result(
    plane: Plane, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> TerminalResultResponse:
    """End the attempt of a lease, and make of its report what becomes of the task.

    The holder of the row decides: a report that comes while the lease is still there counts, even after its expiry.
    Sent again, the same report gets `already_recorded`, with the same next assignment.

    Raises:
        StaleLease: the lease was lost; another attempt may be running.
        ResultConflict: another result is recorded for this lease.
        CancelNotRequested: `cancelled` was reported, and nobody asked for it.
    """
    with work("result", host_id=host_id) as traced, work("claim", host_id=host_id) as claim:
        if report.next_claim is None:
            with plane.database.statement() as tx:
                answer = _record(plane, tx, host_id, lease_id, report)
        else:
            answer = _record_and_claim(plane, host_id, lease_id, report, report.next_claim)
        traced.serve(answer.task_id, reported=report.status, outcome=answer.task_status, answer=answer.status)
        for one in answer.claimed.assignments if answer.claimed else ():
            claim.serve(one.task_id, attempt=one.attempt, serial=one.device_serial, with_a_report=True)
    failpoint("result.committed")
    return answer


def _record(
    plane: Plane, tx: Transaction, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> TerminalResultResponse:
    task = _end_task(plane, tx, host_id, lease_id, report)
    if task is None:
        return _answer_from_attempt(tx, host_id, lease_id, report)
    ring_for_capacity(plane, tx)
    return _recorded(task)


@retried_when_answered_at_once
def _record_and_claim(
    plane: Plane, host_id: UUID, lease_id: UUID, report: TerminalResultRequest, claim: ClaimRequest
) -> TerminalResultResponse:
    with plane.database.transaction() as tx:
        host = claims.lock_host_that_reports(tx, host_id=host_id, lease_id=lease_id, claim_id=claim.claim_id)
        assert host is not None  # noqa: S101 - the caller is authenticated as this host, and hosts are never deleted
        task = _end_task(plane, tx, host_id, lease_id, report)
        answer = _recorded(task) if task else _answer_from_attempt(tx, host_id, lease_id, report)
        claimed: list[Assignment] = []
        if host["incarnation"] == claim.incarnation:
            if host["has_claimed"] or task is None:
                claimed = claimed_before(plane, tx, host_id, claim.claim_id)
            elif _cause(report) is not FailureCause.INFRASTRUCTURE:
                # A device or host that has just failed under a run is given no other in the same breath.
                claimed = _next_assignment(plane, tx, host, claim)
        if task and not claimed:
            ring_for_capacity(plane, tx)
    return answer.model_copy(update={"claimed": claim_reply(claimed, held_ms=0)})


def _next_assignment(plane: Plane, tx: Transaction, host: RowMapping, claim: ClaimRequest) -> list[Assignment]:
    """The first queued task that suits the device which the report has just freed; no other can be assigned to it."""
    if not host["takes_tasks"] or host["state"] != DeviceState.READY or host["serial"] not in claim.free_devices:
        return []
    suiting = _suiting_classes(host)
    if not suiting:
        return []
    taken = transitions.take_queued(
        tx,
        device_id=host["device_id"],
        requirement_classes=suiting,
        claim_id=claim.claim_id,
        incarnation=claim.incarnation,
        lease_id=uuid7(),
        lease_seconds=plane.timing.lease_seconds,
    )
    return assignments_of(plane, taken)


def _suiting_classes(device: RowMapping) -> list[str]:
    queued, labels = device["classes"], device_labels(device)
    if len(queued) > MAX_CLASSES:
        return []
    return [one["name"] for one in queued if not unmet(_conditions(one["requires"]), labels)]


def _conditions(requires: list[dict[str, Any]]) -> list[Requirement]:
    return [Requirement.model_validate(one) for one in requires]


def _end_task(
    plane: Plane, tx: Transaction, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> RowMapping | None:
    cause = _cause(report)
    ending = Ending(
        status=AttemptStatus(report.status),
        cause=cause,
        failure_reason=report.failure_reason or _NO_REASON.get(cause),
        result=report.result,
        progress=report.progress.model_dump(mode="json") if report.progress else None,
        stopped_by=report.stopped_by or StoppedBy.STEP_BOUNDARY,
        report=_comparable(report),
    )
    end = transitions.give_back if cause is FailureCause.INFRASTRUCTURE else transitions.finish
    task = end(tx, lease_id=lease_id, host_id=host_id, ending=ending)
    if task is not None:
        ended = [LeaseOf(host_id, lease_id)]
        tx.after_commit(lambda: plane.wakeups.tell_leases_ended(ended, holder_knows=True))
    return task


def _recorded(task: RowMapping) -> TerminalResultResponse:
    return TerminalResultResponse(status="recorded", task_id=task["task_id"], task_status=task["status"])


def _answer_from_attempt(
    tx: Transaction, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> TerminalResultResponse:
    attempt = attempts.attempt_by_lease(tx, lease_id=lease_id, host_id=host_id, report=_comparable(report))
    if attempt is not None and attempt["has_lease"]:
        # Nothing was changed, and the lease lives on.
        raise CancelNotRequested(
            "nobody asked to cancel this task; report it as done or failed",
            lease_id=str(lease_id),
            task_id=str(attempt["task_id"]),
        )
    if attempt is None or attempt["report"] is None:
        raise stale_lease(lease_id)
    if not attempt["is_recorded"]:
        raise ResultConflict(
            "another result is recorded for this lease", lease_id=str(lease_id), recorded=attempt["report"]
        )
    return TerminalResultResponse(
        status="already_recorded", task_id=attempt["task_id"], task_status=attempt["task_status"]
    )


def _cause(report: TerminalResultRequest) -> FailureCause | None:
    return (report.cause or FailureCause.TASK) if report.status == "failed" else None


def _comparable(report: TerminalResultRequest) -> dict[str, Any]:
    """What makes two reports the same: how the run ended, not how far it was known to be nor what is asked besides."""
    return report.model_dump(mode="json", exclude={"progress", "next_claim"})
