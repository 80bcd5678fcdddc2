"""Take in what came of a run."""

from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.domain.errors import CancelNotRequested, ResultConflict
from control.operations.assign import ring_for_capacity
from control.operations.leases import stale_lease
from control.operations.plane import Plane
from control.store import attempts, leases, transitions
from control.store.database import Transaction
from corral.contract.cancellation import StoppedBy
from corral.contract.history import AttemptStatus, FailureCause
from corral.contract.host_protocol import TerminalResultRequest, TerminalResultResponse
from corral.contract.task_status import TaskStatus
from corral.failpoints import failpoint


def record_task_result(
    plane: Plane, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> TerminalResultResponse:
    """End the attempt of a lease, and make of its report what becomes of the task.

    The holder of the row decides: a report that comes while the lease is still there counts, even after its expiry.
    Sent again, the same report gets `already_recorded`.

    Raises:
        StaleLease: the lease was lost; another attempt may be running.
        ResultConflict: another result is recorded for this lease.
        CancelNotRequested: `cancelled` was reported, and nobody asked for it.
    """
    with plane.database.transaction() as tx:
        lease = leases.end_lease(tx, lease_id=lease_id, host_id=host_id)
        if lease is None:
            return _answer_from_attempt(tx, host_id, lease_id, report)
        task = _end_task(tx, lease, host_id, report)
        attempts.end_attempt(
            tx,
            lease_id,
            AttemptStatus(report.status),
            cause=_cause(report),
            failure_reason=report.failure_reason,
            result=report.result,
            report=_comparable(report),
        )
        ring_for_capacity(plane, tx)
        answer = TerminalResultResponse(status="recorded", task_id=task["task_id"], task_status=task["status"])
    failpoint("result.committed")
    return answer


def _end_task(tx: Transaction, lease: RowMapping, host_id: UUID, report: TerminalResultRequest) -> RowMapping:
    actor, key = f"host:{host_id}", {"task_id": lease["task_id"], "lease_id": lease["lease_id"]}
    stopped_by = report.stopped_by or StoppedBy.STEP_BOUNDARY
    if _cause(report) is FailureCause.INFRASTRUCTURE:
        reason = report.failure_reason or "the host or its device failed"
        changed = transitions.leave_device(tx, **key, reason=reason, actor=actor, stopped_by=stopped_by, confirmed=True)
    else:
        changed = transitions.finish(
            tx,
            **key,
            status=TaskStatus(report.status),
            failure_reason=_reason(report),
            result=report.result,
            progress=report.progress.model_dump(mode="json") if report.progress else lease["progress"],
            actor=actor,
            details=_details(report, stopped_by),
        )
    if changed is None:
        # Nothing is changed: the transaction ends here, and the lease lives on.
        raise CancelNotRequested(
            "nobody asked to cancel this task; report it as done or failed",
            lease_id=str(lease["lease_id"]),
            task_id=str(lease["task_id"]),
        )
    return changed


def _answer_from_attempt(
    tx: Transaction, host_id: UUID, lease_id: UUID, report: TerminalResultRequest
) -> TerminalResultResponse:
    attempt = attempts.attempt_by_lease(tx, lease_id=lease_id, host_id=host_id, report=_comparable(report))
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


def _reason(report: TerminalResultRequest) -> str | None:
    return (report.failure_reason or "the host gave no reason") if report.status == "failed" else report.failure_reason


def _details(report: TerminalResultRequest, stopped_by: StoppedBy) -> dict[str, Any]:
    details: dict[str, Any] = {"reason": report.failure_reason} if report.failure_reason else {}
    if report.status == "cancelled":
        details |= {"stopped_by": stopped_by, "confirmed": True}
    return details


def _comparable(report: TerminalResultRequest) -> dict[str, Any]:
    """What makes two reports the same: how the run ended, not how far its progress had come to be known."""
    return report.model_dump(mode="json", exclude={"progress"})
