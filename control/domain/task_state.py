"""The life of a task. This table is the only list of the changes that may happen to a status.

             assign             claim                finish: done | failed | cancelled
    queued ─────────► assigned ─────────► dispatched ──────────────────────────► done / failed / cancelled
     │  ▲ ▲              │  │                 │
     │  │ └─ not claimed in time, host gone   │ lease expired, or failed for infrastructure:
     │  └─────────────────────────────────────┤   attempts left, no cancel pending ────► queued
     │                      │                 │   no attempts left ────────────────────► failed
     │ cancel               │ cancel pending: │   cancel pending ──────────────────────► cancelled
     ▼                      ▼ settled at once ▼
   cancelled             cancelled         (cancel: sets cancel_requested_at; the host stops and reports cancelled)

A queued task also fails when it has waited longer than its `queue_timeout_seconds`.
"""

from corral.contract.task_status import TaskStatus

_QUEUED, _ASSIGNED, _DISPATCHED = TaskStatus.QUEUED, TaskStatus.ASSIGNED, TaskStatus.DISPATCHED
_DONE, _FAILED, _CANCELLED = TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED

TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    _QUEUED: frozenset({_ASSIGNED, _CANCELLED, _FAILED}),
    _ASSIGNED: frozenset({_DISPATCHED, _QUEUED, _CANCELLED}),
    _DISPATCHED: frozenset({_DONE, _FAILED, _CANCELLED, _QUEUED}),
    _DONE: frozenset(),
    _FAILED: frozenset(),
    _CANCELLED: frozenset(),
}


def active_statuses() -> tuple[TaskStatus, ...]:
    """The statuses in which a task holds a device."""
    return (_ASSIGNED, _DISPATCHED)


def terminal_statuses() -> tuple[TaskStatus, ...]:
    """The statuses that nothing leaves."""
    return tuple(status for status in TaskStatus if not TRANSITIONS[status])


def may_become(status: TaskStatus, target: TaskStatus) -> bool:
    """Whether the drawing above has an arrow from `status` to `target`."""
    return target in TRANSITIONS[status]
