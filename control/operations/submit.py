"""Take in a task."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from control.domain.errors import IdempotencyKeyReused
from control.domain.requirements import requirement_class
from control.domain.submission import checked
from control.operations.keys import Principal
from control.operations.plane import Job, Plane
from control.operations.tasks import show_task_in
from control.store.tasks import Once, find_idempotency_key, insert_task
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail, TaskSubmission
from corral.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class Submitted:
    """The task; `is_replay` where the same request had been taken in before."""

    task: TaskDetail
    is_replay: bool


def submit_task(
    plane: Plane, submission: TaskSubmission, *, principal: Principal, idempotency_key: str | None
) -> Submitted:
    """Queue a task, once for each idempotency key.

    Raises:
        InvalidFlow: the flow cannot be run, or the condition of a goal not be read; the context says where.
        InvalidRequest: the script of a goal cannot be played.
        IdempotencyKeyReused: the key stands for another request of the same API key.
    """
    completed = checked(submission)
    # What has its default is left out: a field that comes with an upgrade must not make another request of this one.
    request_hash = hashlib.sha256(submission.model_dump_json(exclude_defaults=True).encode()).digest()
    once = Once(principal.key_id, idempotency_key, request_hash) if idempotency_key is not None else None
    submitted = None
    while submitted is None:
        # Once more where the key was taken when it was wanted and gone when it was looked at: its task was purged.
        submitted = _insert(plane, completed, principal, once) or (once and _replay(plane, once))
    failpoint("submit.committed")
    return submitted


def _insert(plane: Plane, submission: TaskSubmission, principal: Principal, once: Once | None) -> Submitted | None:
    """The task, or None where its key has been taken before. One statement: a submit is one trip to Postgres."""
    task_id = uuid7()
    with plane.database.statement() as tx:
        # First, for nothing must fail once the task is in.
        waiting_reason = plane.waiting.reason(tx, submission.requires)
        created_at = insert_task(
            tx,
            task_id,
            submission,
            requirement_class=requirement_class(submission.requires),
            actor=principal.actor,
            once=once,
        )
        if created_at is None:
            return None
        tx.after_commit(lambda: plane.doorbell.ring(Job.ASSIGN_TASKS))
    task = _queued(submission, task_id, created_at, actor=principal.actor, waiting_reason=waiting_reason)
    return Submitted(task=task, is_replay=False)


def _replay(plane: Plane, once: Once) -> Submitted | None:
    """The task that was made under this key; None where there is none any more."""
    with plane.database.transaction() as tx:
        row = find_idempotency_key(tx, key_id=once.key_id, key=once.key)
        if row is None:
            return None
        if bytes(row["request_hash"]) != once.request_hash:
            raise IdempotencyKeyReused(
                "this Idempotency-Key was sent before with another body; take a fresh key for another task",
                task_id=str(row["task_id"]),
            )
        return Submitted(task=show_task_in(plane, tx, row["task_id"]), is_replay=True)


def _queued(
    submission: TaskSubmission, task_id: UUID, created_at: datetime, *, actor: str, waiting_reason: str
) -> TaskDetail:
    """The task as a look at it would show it."""
    submitted = {name: getattr(submission, name) for name in TaskDetail.model_fields.keys() & _SUBMITTED}
    return TaskDetail.model_validate(
        {
            **_UNTOUCHED,
            **submitted,
            "agent": submission.agent.model_dump() if submission.agent else None,
            "task_id": task_id,
            "created_at": created_at,
            "created_by": actor,
            "waiting_reason": waiting_reason,
        }
    )


_SUBMITTED = TaskSubmission.model_fields.keys()
#: What no submission says, as it is before anything has happened to the task.
_UNTOUCHED = {
    **dict.fromkeys(TaskDetail.model_fields.keys() - _SUBMITTED),
    "status": TaskStatus.QUEUED,
    "is_cancelling": False,
    "attempt": 0,
}
