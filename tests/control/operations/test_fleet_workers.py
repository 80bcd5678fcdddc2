"""The fleet as Celery's tools see it."""

import pytest

from control.operations.fleet_workers import (
    QUEUE_WORKER,
    FinishedCounts,
    fleet_as_workers,
    hosts_as_workers,
    queued_tasks,
    worker_names,
)
from control.operations.hosts import revoke_host
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet


def names(fleet: Fleet) -> list[str]:
    return [worker.name for worker in fleet_as_workers(fleet.plane)]


def test_a_host_is_a_worker_with_what_runs_and_what_is_assigned(fleet: Fleet):
    host = fleet.host("PHONE1", "PHONE2", name="bench-7")
    running = fleet.running(host, name="Sign in", labels={"team": "shop"}, env={"PASSWORD": "secret"})
    assigned = fleet.submit()
    fleet.assign()
    fleet.cancel(running.task_id)
    (worker,) = fleet_as_workers(fleet.plane, finished=FinishedCounts())
    assert (worker.name, worker.host_id, worker.is_online, worker.devices) == ("bench-7", host.host_id, True, 2)
    (begun,) = worker.running
    assert (begun.task_id, begun.attempt, begun.status) == (running.task_id, 1, TaskStatus.DISPATCHED)
    assert (begun.task_name, begun.labels, begun.serial) == ("Sign in", {"team": "shop"}, running.device_serial)
    assert begun.since == fleet.show(running.task_id).started_at
    assert begun.cancel_requested_at is not None
    assert [task.task_id for task in worker.assigned] == [assigned]
    assert "secret" not in repr(worker)
    (host_alone,) = hosts_as_workers(fleet.plane)
    assert (host_alone.name, host_alone.active, worker.active, host_alone.running) == ("bench-7", 1, 1, ())


def test_runs_that_have_ended_are_counted_once_in_a_while(fleet: Fleet):
    host = fleet.host()
    now = 100.0
    finished = FinishedCounts(clock=lambda: now)
    for _ in range(2):
        host.report(fleet.running(host), "done")
        assert fleet_as_workers(fleet.plane, finished=finished)[0].finished == 1
    now += FinishedCounts.RECOUNT_SECONDS
    assert fleet_as_workers(fleet.plane, finished=finished)[0].finished == 2


def test_of_hosts_with_one_name_the_one_registered_last_has_it_plain(fleet: Fleet):
    first, second = fleet.host(name="bench"), fleet.host(name="bench")
    suffixed = f"bench~{first.host_id.hex[-6:]}"
    assert sorted(names(fleet)) == ["bench", suffixed]
    assert worker_names(fleet.plane, [first.host_id, second.host_id]) == {
        first.host_id: suffixed,
        second.host_id: "bench",
    }
    revoke_host(fleet.plane, second.host_id)
    assert names(fleet) == ["bench"]
    assert worker_names(fleet.plane, [second.host_id])[second.host_id] == f"bench~{second.host_id.hex[-6:]}"


@pytest.mark.parametrize("name", [QUEUE_WORKER, "jobs@rack"])
def test_no_host_goes_by_the_name_of_a_part_of_the_system(fleet: Fleet, name: str):
    host = fleet.host(name=name)
    assert names(fleet) == [f"{name}~{host.host_id.hex[-6:]}"]


def test_queued_tasks_come_youngest_first_and_no_more_than_asked_for(fleet: Fleet):
    tasks = [fleet.submit() for _ in range(3)]
    shown = queued_tasks(fleet.plane, limit=2)
    assert [task.task_id for task in shown] == [tasks[2], tasks[1]]
    assert (shown[0].status, shown[0].attempt, shown[0].serial) == (TaskStatus.QUEUED, 0, None)
