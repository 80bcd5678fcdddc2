"""The operations against a model of them: whatever the order, both agree on every task after every step."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from control.artifacts import ArtifactFolder
from control.domain.errors import CancelNotRequested, StaleLease
from control.domain.task_state import may_become
from control.operations.cancels import settle_cancels
from control.operations.plane import Plane
from control.operations.reap import reap_expired_leases
from control.store.database import Database
from corral.contract.host_protocol import Assignment
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups

Status = TaskStatus


@dataclass
class Expected:
    """What the model believes of one task."""

    status: TaskStatus
    max_attempts: int
    priority: int = 0
    attempt: int = 0
    is_cancelling: bool = False
    was_asked: bool = False
    history: list[TaskStatus] = field(default_factory=list)

    def become(self, status: TaskStatus) -> None:
        assert may_become(self.status, status), (self.status, status)
        self.history.append(status)
        self.status = status
        self.is_cancelling &= not status.is_terminal

    def leave_device(self) -> None:
        if self.is_cancelling:
            self.become(Status.CANCELLED)
        else:
            self.become(Status.QUEUED if self.attempt < self.max_attempts else Status.FAILED)


class LifeOfTasks(RuleBasedStateMachine):
    database_url = ""

    tasks = Bundle("tasks")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.database = Database.connect(self.database_url, pool_size=2, application_name="test")
        plane = Plane(self.database, RecordedRings(), RecordedWakeups(), ArtifactFolder(Path(self.folder.name)))
        with self.database.transaction() as tx:
            tx.run("TRUNCATE hosts, devices, scheduled_tasks, job_runs, api_keys CASCADE")
        self.fleet = Fleet(plane)
        self.host = self.fleet.host("A", "B")
        self.model: dict[UUID, Expected] = {}

    @rule(target=tasks, max_attempts=st.integers(1, 3), priority=st.integers(-1, 1))
    def submit(self, max_attempts: int, priority: int) -> UUID:
        task_id = self.fleet.submit(max_attempts=max_attempts, priority=priority)
        self.model[task_id] = Expected(Status.QUEUED, max_attempts, priority)
        return task_id

    @rule()
    def assign(self) -> None:
        before = {task for task, one in self.model.items() if one.status is Status.QUEUED}
        busy = sum(one.status in {Status.ASSIGNED, Status.DISPATCHED} for one in self.model.values())
        assert self.fleet.assign() == min(len(before), 2 - busy)
        for task in before:
            if self.fleet.show(task).status is Status.ASSIGNED:
                self.model[task].become(Status.ASSIGNED)

    @rule(target=claims)
    def claim(self) -> Assignment | None:
        possible = [one for one in self.model.values() if one.status is Status.ASSIGNED and not one.is_cancelling]
        assignment = self.host.claim()
        assert (assignment is None) == (not possible)
        if assignment is not None:
            self._is_dispatched(assignment)
        return assignment

    @rule(target=claims)
    def claim_for_all_devices(self) -> Any:
        possible = [one for one in self.model.values() if one.status is Status.ASSIGNED and not one.is_cancelling]
        claim_id = uuid7()
        claimed = self.host.claim_several(claim_id=claim_id)
        assert len(claimed) == len(possible)
        for assignment in claimed:
            self._is_dispatched(assignment)
        assert [one.lease_id for one in self.host.claim_several(claim_id=claim_id)] == [one.lease_id for one in claimed]
        return multiple(*claimed)

    @rule(assignment=claims)
    def renew(self, assignment: Assignment | None) -> None:
        if assignment is None:
            return
        expected = self.model[assignment.task_id]
        if self._is_current(assignment):
            assert self.host.renew(assignment) == expected.is_cancelling
        else:
            with pytest.raises(StaleLease):
                self.host.renew(assignment)

    @rule(several=st.lists(claims, min_size=2, max_size=5))
    def renew_together(self, several: list[Assignment | None]) -> None:
        assignments = [one for one in several if one is not None]
        expected = [self.model[one.task_id].is_cancelling if self._is_current(one) else None for one in assignments]
        assert self.host.renew_all(*assignments) == expected

    @rule(task=tasks)
    def cancel(self, task: UUID) -> None:
        expected = self.model[task]
        answer = self.fleet.cancel(task).request_status.value
        if expected.status.is_terminal:
            assert answer == "already_terminal"
        elif expected.is_cancelling:
            assert answer == "already_requested"
        else:
            assert answer == "requested"
            expected.was_asked = True
            if expected.status is Status.QUEUED:
                expected.become(Status.CANCELLED)
            else:
                expected.is_cancelling = True

    @rule()
    def settle(self) -> None:
        settle_cancels(self.fleet.plane)
        for expected in self.model.values():
            if expected.status is Status.ASSIGNED and expected.is_cancelling:
                expected.become(Status.CANCELLED)

    @rule(assignment=consumes(claims), outcome=st.sampled_from(["done", "failed", "cancelled", "broken"]))
    def report(self, assignment: Assignment | None, outcome: str) -> None:
        if assignment is None:
            return
        expected = self.model[assignment.task_id]
        report: dict[str, Any] = {"status": outcome}
        if outcome == "broken":
            report = {"status": "failed", "cause": "infrastructure"}
        if not self._is_current(assignment):
            with pytest.raises(StaleLease):
                self.host.report(assignment, **report)
        elif outcome == "cancelled" and not expected.is_cancelling:
            with pytest.raises(CancelNotRequested):
                self.host.report(assignment, **report)
            self.host.report(assignment, "done")
            expected.become(Status.DONE)
        else:
            self.host.report(assignment, **report)
            if outcome == "broken":
                expected.leave_device()
            else:
                expected.become(Status(outcome))

    @rule(target=claims, assignment=consumes(claims), outcome=st.sampled_from(["done", "failed"]))
    def report_and_claim(self, assignment: Assignment | None, outcome: str) -> Any:
        if assignment is None or not self._is_current(assignment):
            return multiple()
        queued = [(-one.priority, task) for task, one in self.model.items() if one.status is Status.QUEUED]
        report = {"status": outcome, "next_claim": self.host.claim_request(assignment.device_serial).model_dump()}
        answers = [self.host.report(assignment, **report) for _ in range(2)]
        assert [answer.status for answer in answers] == ["recorded", "already_recorded"]
        self.model[assignment.task_id].become(Status(outcome))
        first, again = (answer.claimed.assignment for answer in answers)
        assert (first and first.lease_id) == (again and again.lease_id)
        assert (first and first.task_id) == (min(queued)[1] if queued else None)
        if first is None:
            return multiple()
        self.model[first.task_id].become(Status.ASSIGNED)
        self._is_dispatched(first)
        return first

    @rule(assignment=claims)
    def lose_the_host(self, assignment: Assignment | None) -> None:
        if assignment is None or not self._is_current(assignment):
            return
        self.fleet.expire(assignment)
        assert reap_expired_leases(self.fleet.plane) == 1
        self.model[assignment.task_id].leave_device()

    @rule()
    def restart_the_host(self) -> None:
        self.host.restart()
        for expected in self.model.values():
            if expected.status is Status.DISPATCHED:
                expected.leave_device()

    @invariant()
    def store_and_model_agree(self) -> None:
        with self.database.transaction() as tx:
            rows = tx.rows("SELECT task_id, status, attempt, cancel_requested_at FROM scheduled_tasks")
            leases = {row["task_id"] for row in tx.rows("SELECT task_id FROM leases")}
        seen = {row["task_id"]: (row["status"], row["attempt"], row["cancel_requested_at"] is not None) for row in rows}
        assert seen == {task: (one.status.value, one.attempt, one.is_cancelling) for task, one in self.model.items()}
        assert leases == {task for task, one in self.model.items() if one.status is Status.DISPATCHED}

    @invariant()
    def nobody_who_was_not_asked_to_stop_is_cancelled(self) -> None:
        assert all(one.was_asked for one in self.model.values() if one.status is Status.CANCELLED)

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def _is_dispatched(self, assignment: Assignment) -> None:
        expected = self.model[assignment.task_id]
        expected.become(Status.DISPATCHED)
        expected.attempt += 1
        assert assignment.attempt == expected.attempt

    def _is_current(self, assignment: Assignment) -> bool:
        expected = self.model[assignment.task_id]
        return expected.status is Status.DISPATCHED and expected.attempt == assignment.attempt


def test_the_operations_agree_with_a_model_of_them(database_url: str) -> None:
    machine = type("LifeOfTasksHere", (LifeOfTasks,), {"database_url": database_url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
