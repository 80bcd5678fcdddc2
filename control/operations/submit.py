"""Take in a task."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

from control.domain.errors import IdempotencyKeyReused
from control.domain.requirements import requirement_class
from control.domain.submission import checked
from control.operations.keys import Principal
from control.operations.plane import Job, Plane
from control.operations.tasks import show_task_in
from control.store.database import Transaction
from control.store.events import Event, record_events
from control.store.tasks import find_idempotency_key, insert_idempotency_key, insert_task
from corral.contract.history import TaskEventKind
from corral.contract.identifiers import uuid7
from corral.contract.tasks import TaskDetail, TaskSubmission
from corral.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class Submitted:
    """The task; `is_replay` where the same request had been taken in before."""

    task: TaskDetail
    is_replay: bool


class _KeyTaken(Exception):
    """Read what they made of it."""


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
    try:
        submitted = _insert(plane, completed, principal, key=idempotency_key, request_hash=request_hash)
    except _KeyTaken:
        submitted = _insert(plane, completed, principal, key=idempotency_key, request_hash=request_hash)
    failpoint("submit.committed")
    return submitted


def _insert(
    plane: Plane,
    submission: TaskSubmission,
    principal: Principal,
    *,
    key: str | None,
    request_hash: bytes,
) -> Submitted:
    with plane.database.transaction() as tx:
        if key is not None and (known := _known(tx, principal.key_id, key, request_hash)):
            return Submitted(task=show_task_in(tx, known), is_replay=True)
        task_id = uuid7()
        insert_task(
            tx,
            task_id,
            submission,
            requirement_class=requirement_class(submission.requires),
            actor=principal.actor,
        )
        record_events(tx, [Event(TaskEventKind.QUEUED, task_id, attempt=0)], actor=principal.actor)
        if key is not None and not insert_idempotency_key(
            tx, key_id=principal.key_id, key=key, request_hash=request_hash, task_id=task_id
        ):
            raise _KeyTaken
        tx.after_commit(lambda: plane.doorbell.ring(Job.ASSIGN_TASKS))
        return Submitted(task=show_task_in(tx, task_id), is_replay=False)


def _known(tx: Transaction, key_id: str, key: str, request_hash: bytes) -> UUID | None:
    row = find_idempotency_key(tx, key_id=key_id, key=key)
    if row is None:
        return None
    if bytes(row["request_hash"]) != request_hash:
        raise IdempotencyKeyReused(
            "this Idempotency-Key was sent before with another body; take a fresh key for another task",
            task_id=str(row["task_id"]),
        )
    return row["task_id"]
