"""Take in what Celery clients send. What they are told of it later is in `celery_requests`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from control.domain.errors import BodyTooLarge, InvalidRequest
from control.domain.field_problems import field_problems
from control.domain.requirements import requirement_class
from control.domain.submission import MAX_SUBMISSION_BYTES, checked
from control.metrics import count_revokes
from control.operations.celery_requests import QUEUED, Told
from control.operations.plane import Job, Plane
from control.store import celery_requests, transitions
from control.store.celery_revokes import lock_celery_id, take_revoke
from control.store.database import Transaction, retried_on_deadlock
from control.store.tasks import insert_task, task_exists
from corral.contract.problems import FieldProblem
from corral.contract.tasks import TaskKind, TaskSubmission
from corral.traces.spans import work

#: Who ends a task that nobody began in time.
EXPIRED_ACTOR = "celery:expires"
#: Where in the message the fields of a task stand.
_ROOT = "kwargs"


@dataclass(frozen=True, slots=True)
class CeleryMessage:
    """One message for the front door."""

    task_id: str
    fields: Mapping[str, Any]
    #: What of it is needed to answer: id, root_id, parent_id, group, chord, chain, callbacks, errbacks.
    request: Mapping[str, Any]
    eta: str | None = None
    expires_at: datetime | None = None
    #: Who heard that this id was revoked, before the message was taken from its queue.
    revoked_by: str | None = None


def accept_message(
    plane: Plane, message: CeleryMessage, *, submitter: str, tell_queued: Callable[[Told], None]
) -> bool:
    """Queue a task under its Celery id, once; a message that comes again changes nothing and is told nothing.

    One that was revoked before, or came too late, is cancelled at once.

    Raises:
        InvalidRequest: the message is no task, wants to wait for a time, or its id cannot be used.
        InvalidFlow: the flow cannot be run, or the condition of a goal not be read.
        BodyTooLarge: the fields are more than a task may have.
    """
    task_id = _task_id(message.task_id)
    submission = checked(_submission(message))
    with work("submit", actor=f"celery:{submitter}") as traced, plane.database.transaction() as tx:
        lock_celery_id(tx, task_id)
        if task_exists(tx, task_id):
            return _known_before(tx, task_id)
        insert_task(
            tx,
            task_id,
            submission,
            requirement_class=requirement_class(submission.requires),
            actor=f"celery:{submitter}",
            once=None,
        )
        if not _end_at_once(tx, task_id, message):
            tx.after_commit(lambda: plane.doorbell.ring(Job.ASSIGN_TASKS))
        # Before the commit: from then on others tell of the task, and what they say must be the last word.
        tell_queued(QUEUED)
        traced.serve(task_id, kind=submission.kind, name=submission.name)
    return True


def refuse_message(plane: Plane, task_id: str, *, tell: Callable[[], None]) -> bool:
    """Tell that a message was refused, unless its id is that of a task that was taken in: that one goes on."""
    if not _is_uuid(task_id):
        tell()
        return True
    with plane.database.transaction() as tx:
        lock_celery_id(tx, UUID(task_id))
        if celery_requests.request_exists(tx, UUID(task_id)):
            return False
        tell()
    return True


@retried_on_deadlock
def cancel_expired_tasks(plane: Plane) -> int:
    """Cancel tasks of Celery clients that have not begun by the time that their message gives."""
    with plane.database.transaction() as tx:
        expired = len(transitions.cancel_expired(tx, actor=EXPIRED_ACTOR))
        tx.after_commit(lambda: count_revokes(EXPIRED_ACTOR, expired))
    return expired


def _known_before(tx: Transaction, task_id: UUID) -> bool:
    if not celery_requests.request_exists(tx, task_id):
        raise _invalid("task_id", f"{task_id} is the id of a task that did not come from Celery; take a fresh one")
    return False


def _end_at_once(tx: Transaction, task_id: UUID, message: CeleryMessage) -> bool:
    revoke = take_revoke(tx, task_id)
    is_expired = celery_requests.keep_request(
        tx, task_id, message.request, expires_at=message.expires_at, published=QUEUED
    )
    if revoke is not None:
        actor, reason = revoke["actor"], revoke["reason"]
    elif message.revoked_by is not None:
        actor, reason = message.revoked_by, "revoked before it was taken in"
    elif is_expired:
        actor, reason = EXPIRED_ACTOR, transitions.EXPIRED_REASON
    else:
        return False
    transitions.request_cancel(tx, task_id, actor=actor, reason=reason)
    tx.after_commit(lambda: count_revokes(actor))
    return True


def _submission(message: CeleryMessage) -> TaskSubmission:
    if message.eta is not None:
        raise _invalid("eta", "a task cannot wait for a time; send it without eta and countdown when it is due")
    if not message.fields:
        raise _invalid(
            _ROOT,
            "there is nothing to run: name the fields of a task, such as kwargs={'flow': '…'} or kwargs={'goal': '…'};"
            " positional arguments are ignored",
        )
    if _size_bytes(message.fields) > MAX_SUBMISSION_BYTES:
        raise BodyTooLarge(f"{_ROOT}: more than {MAX_SUBMISSION_BYTES} bytes; a task takes no more than that")
    try:
        return TaskSubmission.model_validate(_with_kind(message.fields))
    except ValidationError as error:
        found = [{**one, "loc": (_ROOT, *one["loc"])} for one in error.errors(include_url=False, include_input=False)]
        problems = field_problems(found, root=_ROOT, known_fields=list(TaskSubmission.model_fields))
        # All of it in words: the message is the only thing that a client of Celery is shown of an error.
        raise InvalidRequest("; ".join(_in_words(one) for one in problems), errors=problems) from None


def _size_bytes(fields: Mapping[str, Any]) -> int:
    # As the API's clients send them; half of a surrogate pair is refused later, in better words than an encoder has.
    return len(json.dumps(fields, ensure_ascii=False).encode(errors="surrogatepass"))


def _with_kind(fields: Mapping[str, Any]) -> dict[str, Any]:
    is_goal = fields.get("goal") is not None and fields.get("flow") is None
    return {"kind": TaskKind.GOAL if is_goal else TaskKind.FLOW, **fields}


def _in_words(problem: FieldProblem) -> str:
    allowed = f"; it is one of {', '.join(problem.allowed)}" if problem.allowed else ""
    return f"{problem.location}: {problem.message}{allowed}"


def _task_id(text: str) -> UUID:
    if not _is_uuid(text):
        raise _invalid("task_id", f"'{text}' is no UUID in small letters with its hyphens; leave it to Celery")
    return UUID(text)


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _invalid(location: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{location}: {message}", errors=[FieldProblem(location=location, message=message)])
