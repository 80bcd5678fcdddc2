"""The table of changes is the drawing above it, and Postgres knows the same statuses."""

import itertools

from control.domain import task_state
from control.domain.task_state import TRANSITIONS, active_statuses, may_become, terminal_statuses
from corral.contract.task_status import TERMINAL_STATUSES, TaskStatus


def test_every_status_has_its_row_and_leads_only_to_known_ones() -> None:
    assert set(TRANSITIONS) == set(TaskStatus)
    assert all(targets <= set(TaskStatus) for targets in TRANSITIONS.values())


def test_nothing_leaves_a_terminal_status() -> None:
    assert set(terminal_statuses()) == TERMINAL_STATUSES
    assert not any(may_become(end, status) for end in TERMINAL_STATUSES for status in TaskStatus)


def test_every_live_status_can_be_cancelled() -> None:
    assert all(may_become(status, TaskStatus.CANCELLED) for status in set(TaskStatus) - TERMINAL_STATUSES)


def test_only_a_run_can_be_done() -> None:
    assert [status for status in TaskStatus if may_become(status, TaskStatus.DONE)] == [TaskStatus.DISPATCHED]


def test_a_device_is_held_by_assigned_and_dispatched_tasks() -> None:
    assert active_statuses() == (TaskStatus.ASSIGNED, TaskStatus.DISPATCHED)


def test_the_drawing_names_every_status() -> None:
    drawing = task_state.__doc__ or ""
    assert all(status.value in drawing for status in TaskStatus)


def test_every_status_is_reached_from_queued() -> None:
    reached, frontier = set(), {TaskStatus.QUEUED}
    while frontier:
        reached |= frontier
        frontier = set(itertools.chain.from_iterable(TRANSITIONS[status] for status in frontier)) - reached
    assert reached == set(TaskStatus)
