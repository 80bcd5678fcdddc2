"""Between two facts there is a window. A cancel is put into each of them, and each fact into the cancel's own."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from control.domain.errors import CancelNotRequested
from control.operations.cancel import CancellationRequestStatus
from control.operations.cancels import settle_cancels
from control.operations.plane import Job
from corral.contract.host_protocol import Assignment
from corral.contract.task_status import TaskStatus
from corral.failpoints import on
from tests.control.fleet import Fleet, Host


class Road:
    """A task on its way, a stage at a time."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.host: Host = fleet.host()
        self.assignment: Assignment | None = None
        self.asked: CancellationRequestStatus | None = None
        self.task_id: UUID | None = None

    def submit(self) -> None:
        self.task_id = self.fleet.submit()

    def assign(self) -> None:
        self.fleet.assign()

    def claim(self) -> None:
        self.assignment = self.host.claim()

    def renew(self) -> None:
        if self.assignment:
            self.host.renew(self.assignment)

    def report(self) -> None:
        if self.assignment:
            self.host.report(self.assignment, "done")

    def cancel(self) -> None:
        if self.asked is None:
            assert self.task_id is not None
            self.asked = self.fleet.cancel(self.task_id).request_status

    def end(self) -> TaskStatus:
        """What a host does from here on: it asks at its next renewal, and stops when it is told to."""
        if Job.SETTLE_CANCELS in self.fleet.plane.doorbell.rung:
            settle_cancels(self.fleet.plane)
        assert self.task_id is not None
        status = self.fleet.show(self.task_id).status
        if status.is_terminal:
            return status
        assert self.assignment is not None, status
        told = self.host.renew(self.assignment, cancel_seen=True)
        self.host.report(self.assignment, "cancelled" if told else "done")
        return self.fleet.show(self.task_id).status


STAGES = ("submit", "assign", "claim", "renew", "report")


@pytest.fixture
def road(fleet: Fleet) -> Road:
    return Road(fleet)


def walk(road: Road, *, until: str) -> None:
    for stage in STAGES[: STAGES.index(until)]:
        getattr(road, stage)()


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_cancel_after_the_commit_and_before_the_reply_is_heard(road: Road, stage: str) -> None:
    walk(road, until=stage)
    with on(f"{'result' if stage == 'report' else stage}.committed", road.cancel):
        getattr(road, stage)()
    expected = TaskStatus.DONE if stage == "report" else TaskStatus.CANCELLED
    assert road.end() is expected
    assert road.asked is not None


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_cancel_just_before_is_heard(road: Road, stage: str) -> None:
    walk(road, until=stage)
    road.cancel()
    getattr(road, stage)()
    expected = TaskStatus.DONE if stage == "report" else TaskStatus.CANCELLED
    assert road.end() is expected


@pytest.mark.parametrize("stage", STAGES[1:])
def test_what_happens_between_the_cancels_commit_and_its_ring_does_not_lose_it(road: Road, stage: str) -> None:
    walk(road, until=stage)
    with on("cancel.committed", getattr(road, stage)):
        road.cancel()
    expected = TaskStatus.DONE if stage == "report" else TaskStatus.CANCELLED
    assert road.end() is expected


def test_a_cancel_between_the_submits_commit_and_its_reply_leaves_nothing_to_run(road: Road, fleet: Fleet) -> None:
    def cancel_the_only_task() -> None:
        with fleet.plane.database.transaction() as tx:
            task_id = tx.value("SELECT task_id FROM scheduled_tasks")
        road.asked = fleet.cancel(task_id).request_status

    with on("submit.committed", cancel_the_only_task):
        road.submit()
    road.assign()
    road.claim()
    assert road.assignment is None
    assert road.end() is TaskStatus.CANCELLED


@pytest.mark.parametrize("order", ["cancel first", "report first"])
def test_a_host_that_says_cancelled_is_believed_only_after_somebody_asked(road: Road, order: str) -> None:
    walk(road, until="report")
    assert road.assignment is not None
    steps: list[Callable[[], Any]] = [road.cancel, lambda: road.host.report(road.assignment, "cancelled")]
    if order == "report first":
        with pytest.raises(CancelNotRequested):
            steps[1]()
    steps[0]()
    steps[1]()
    assert road.end() is TaskStatus.CANCELLED
