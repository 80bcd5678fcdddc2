"""Show the fleet as Celery's tools see one: hosts as workers, and under them the tasks that they have."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.operations.plane import Plane
from control.store import fleet_workers
from control.store.database import Transaction
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskKind

#: What no host does is done by the control plane, under names of its own: it holds queued tasks, and it ends tasks for
#: hosts that are gone. Under such a host's name, the telling alone would make it look alive.
QUEUE_WORKER = "queue@control"
REAPER_WORKER = "reaper@control"

#: A host that has been away for longer is not worth a line.
SEEN_LATELY_SECONDS = 3600.0
#: Far beyond a fleet that a person would look at; what is beyond it is not shown.
MOST_HOSTS = 5_000
MOST_TASKS_ON_HOSTS = 20_000


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """A task that has not ended. Holds nothing of what it runs with: no flow, no env, no secrets."""

    task_id: UUID
    attempt: int
    task_kind: TaskKind
    task_name: str | None
    labels: Mapping[str, str]
    status: TaskStatus
    #: When it was queued, assigned or started, by its status.
    since: datetime
    serial: str | None
    cancel_requested_at: datetime | None
    progress: Mapping[str, Any] | None
    created_by: str


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A host, under the name that it has as a worker."""

    name: str
    host_id: UUID
    is_online: bool
    is_draining: bool
    version: str | None
    labels: Mapping[str, str]
    devices: int
    #: How many tasks run on it.
    active: int
    #: Runs that have ended, of those that are still kept; counted once in a while.
    finished: int
    running: tuple[WorkerTask, ...] = field(default=())
    assigned: tuple[WorkerTask, ...] = field(default=())


class FinishedCounts:
    """How many runs each host has ended: millions of rows, so they are counted once in a while. For all threads."""

    #: Takes Postgres about a tenth of a second for each million runs that are kept.
    RECOUNT_SECONDS = 60.0

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: Mapping[UUID, int] = {}
        self._good_until = clock()

    def counts(self, tx: Transaction) -> Mapping[UUID, int]:
        now = self._clock()
        if now >= self._good_until:
            # First, so that of several threads one counts.
            self._good_until = now + self.RECOUNT_SECONDS
            self._counts = fleet_workers.finished_attempts(tx)
        return self._counts


def fleet_as_workers(plane: Plane, *, finished: FinishedCounts | None = None) -> list[WorkerView]:
    """All hosts that are online or were heard of lately, with their tasks: what was true at one moment.

    Revoked hosts are left out. Without `finished`, runs that have ended are counted as 0.
    """
    with plane.database.snapshot() as tx:
        rows, counts = _hosts(tx, finished)
        tasks = _by_host_and_status(fleet_workers.tasks_on_hosts(tx, limit=MOST_TASKS_ON_HOSTS))
    return [_worker(row, counts, tasks) for row in rows]


def hosts_as_workers(plane: Plane, *, finished: FinishedCounts | None = None) -> list[WorkerView]:
    """The same without the tasks: at a twentieth of the cost, for what is looked at all the time."""
    with plane.database.statement() as tx:
        rows, counts = _hosts(tx, finished)
    return [_worker(row, counts, {}) for row in rows]


def queued_tasks(plane: Plane, *, limit: int) -> list[WorkerTask]:
    """Tasks that wait for a device, youngest first."""
    with plane.database.statement() as tx:
        return [_task(row) for row in fleet_workers.queued_tasks(tx, limit=limit)]


def worker_names(plane: Plane, host_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The names under which these hosts are workers, gone ones too. A host that nobody knows has none."""
    with plane.database.statement() as tx:
        return {row["host_id"]: _name(row) for row in fleet_workers.names_of(tx, list(host_ids))}


def _hosts(tx: Transaction, finished: FinishedCounts | None) -> tuple[Sequence[RowMapping], Mapping[UUID, int]]:
    rows = fleet_workers.hosts_as_workers(tx, seen_within_seconds=SEEN_LATELY_SECONDS, limit=MOST_HOSTS)
    return rows, finished.counts(tx) if finished else {}


_TasksOfHosts = Mapping[tuple[UUID, TaskStatus], list[WorkerTask]]


def _by_host_and_status(rows: Iterable[RowMapping]) -> _TasksOfHosts:
    tasks: defaultdict[tuple[UUID, TaskStatus], list[WorkerTask]] = defaultdict(list)
    for row in rows:
        tasks[row["host_id"], TaskStatus(row["status"])].append(_task(row))
    return tasks


def _worker(row: RowMapping, counts: Mapping[UUID, int], tasks: _TasksOfHosts) -> WorkerView:
    return WorkerView(
        name=_name(row),
        host_id=row["host_id"],
        is_online=row["is_online"],
        is_draining=row["is_draining"],
        version=row["version"],
        labels=row["labels"],
        devices=row["devices"],
        active=row["active"],
        finished=counts.get(row["host_id"], 0),
        running=tuple(tasks.get((row["host_id"], TaskStatus.DISPATCHED), ())),
        assigned=tuple(tasks.get((row["host_id"], TaskStatus.ASSIGNED), ())),
    )


def _task(row: RowMapping) -> WorkerTask:
    return WorkerTask(
        task_id=row["task_id"],
        attempt=row["attempt"],
        task_kind=TaskKind(row["task_kind"]),
        task_name=row["task_name"],
        labels=row["labels"],
        status=TaskStatus(row["status"]),
        since=row["since"],
        serial=row["serial"],
        cancel_requested_at=row["cancel_requested_at"],
        progress=row["progress"],
        created_by=row["created_by"],
    )


def _name(row: RowMapping) -> str:
    name: str = row["name"]
    # With an `@` it could be that of a worker of Celery, ours among them.
    if row["has_plain_name"] and "@" not in name:
        return name
    return f"{name}~{row['host_id'].hex[-6:]}"
