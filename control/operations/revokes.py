"""What Celery clients revoke: device tasks are cancelled durably, and ids that are no task yet may be kept for it.

ids ─┬─ device tasks ────────────────────────────► cancel requested, once
     ├─ UUIDs of nobody, where the door is open ─► kept: a task that comes is accepted as cancelled
     └─ everything else ─────────────────────────► unknown: Celery's own affair

Every place that hears a revoke may bring it here, in any order and again: only the first one counts.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from uuid import UUID

from control.metrics import count_revokes
from control.operations.cancel import pass_on
from control.operations.plane import Plane
from control.store import transitions
from control.store.celery_revokes import keep_revokes, lock_celery_ids, look_for_revoked
from control.store.database import retried_on_deadlock
from corral.traces.spans import work

#: So many ids are looked for in one statement.
LOOK_IDS = 10_000


@dataclass(slots=True)
class Revoked:
    """What became of revoked ids; every one of them is in one of these sets."""

    #: Device tasks that this revoke has cancelled: at once, or their host is being told.
    cancelled: set[UUID] = field(default_factory=set[UUID])
    #: Device tasks whose cancel was asked for before, or which have ended.
    settled: set[UUID] = field(default_factory=set[UUID])
    #: Ids that are no task, and whose revoke is kept.
    kept: set[UUID] = field(default_factory=set[UUID])
    #: Ids as they were given that are no UUID, or no task of ours.
    unknown: set[str | UUID] = field(default_factory=set[str | UUID])


def cancel_revoked(
    plane: Plane,
    ids: Iterable[str | UUID],
    *,
    actor: str,
    keeps_unknown: bool,
    is_hard: bool = False,
    on_progress: Callable[[], None] = lambda: None,
) -> Revoked:
    """Cancel those of `ids` that are device tasks; with `keeps_unknown`, keep the revoke of every other UUID.

    All that it answers is durable when this returns, and doing it again changes nothing. A revoke `is_hard` where it
    asks to terminate: that is told to whoever looks, and makes no difference to a device task. Ids by the hundred
    thousand take minutes: `on_progress` is called every second or so.
    """
    reason = f"{'terminated' if is_hard else 'revoked'} in Celery"
    given = {said: task_id_in(said) for said in ids}
    revoked = Revoked()
    strangers: list[UUID] = []
    # By their numbers: UUIDs compare themselves at a tenth of the speed.
    wanted = sorted({task_id for task_id in given.values() if task_id}, key=attrgetter("int"))
    for task_ids in _pieces(wanted, LOOK_IDS):
        strangers += _cancel_known(plane, task_ids, revoked, actor=actor, reason=reason)
        on_progress()
    # What runs comes before what may never come: to keep an id takes a hundred times as long as to look for it.
    for task_ids in _pieces(strangers if keeps_unknown else [], LOOK_IDS):
        came = _keep(plane, task_ids, revoked, actor=actor, reason=reason)
        if came:
            _cancel_known(plane, came, revoked, actor=actor, reason=reason)
        on_progress()
    known = revoked.cancelled | revoked.settled | revoked.kept
    count_revokes(actor, len(revoked.cancelled))
    revoked.unknown = {said for said, task_id in given.items() if task_id not in known}
    return revoked


def task_id_in(said: object) -> UUID | None:
    """The id of a task, where this can be one; Celery takes any text."""
    if isinstance(said, UUID):
        return said
    try:
        return UUID(said) if isinstance(said, str) else None
    except ValueError:
        return None


def _cancel_known(plane: Plane, task_ids: Sequence[UUID], revoked: Revoked, *, actor: str, reason: str) -> list[UUID]:
    """Answers the ids that are unknown."""
    with plane.database.statement() as tx:
        rows = look_for_revoked(tx, task_ids)
    tasks = {row["task_id"] for row in rows if row["is_task"]}
    known: set[UUID] = {row["task_id"] for row in rows}
    for some in _pieces([row["task_id"] for row in rows if row["is_open"]], transitions.SWEEP_ROWS):
        revoked.cancelled |= _cancel(plane, some, actor=actor, reason=reason)
    revoked.settled |= tasks - revoked.cancelled
    revoked.kept |= known - tasks
    return [task_id for task_id in task_ids if task_id not in known]


@retried_on_deadlock
def _cancel(plane: Plane, task_ids: Sequence[UUID], *, actor: str, reason: str) -> set[UUID]:
    began_at = time.monotonic()
    with work("revoke", actor=actor) as traced, plane.database.transaction() as tx:
        changed = transitions.request_cancels(tx, task_ids, actor=actor, reason=reason)
        for row in changed:
            traced.serve(row["task_id"], status=row["status"])
    pass_on(plane, changed, began_at=began_at)
    return {row["task_id"] for row in changed}


def _keep(plane: Plane, task_ids: Sequence[UUID], revoked: Revoked, *, actor: str, reason: str) -> list[UUID]:
    """Answers the ids whose task has come meanwhile."""
    with plane.database.transaction() as tx:
        # Nobody accepts a task between the look and the commit.
        lock_celery_ids(tx)
        came: list[UUID] = [row["task_id"] for row in look_for_revoked(tx, task_ids) if row["is_task"]]
        strangers = sorted(set(task_ids) - set(came))
        keep_revokes(tx, strangers, actor=actor, reason=reason)
    revoked.kept |= set(strangers)
    return came


def _pieces(ids: Sequence[UUID], size: int) -> Iterator[Sequence[UUID]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
