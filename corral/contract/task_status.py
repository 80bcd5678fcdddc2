"""Where a task is in its life."""

from enum import StrEnum


class TaskStatus(StrEnum):
    """Where a task is in its life. A pending cancel is no status but `is_cancelling` on assigned or dispatched."""

    QUEUED = "queued"
    ASSIGNED = "assigned"
    DISPATCHED = "dispatched"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL_STATUSES


TERMINAL_STATUSES = frozenset({TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED})
