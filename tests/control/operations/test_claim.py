"""One claim for several devices."""

import pytest

from control.domain.errors import HostNotFound, StaleIncarnation
from control.operations.cancels import settle_cancels
from control.operations.claim import claim_assignments, hosts_with_assignments
from control.operations.tasks import list_attempts
from control.store.database import Database
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet, Host
from tests.control.together import at_once


@pytest.fixture
def host(fleet: Fleet) -> Host:
    return fleet.host("PHONE1", "PHONE2", "PHONE3")


def test_a_claim_takes_a_task_for_each_free_device(fleet: Fleet, host: Host) -> None:
    tasks = [fleet.submit(priority=priority) for priority in (0, 2, 1, 3)]
    assert fleet.assign() == 3
    claimed = host.claim_several()
    assert [one.task_id for one in claimed] == [tasks[3], tasks[1], tasks[2]]
    assert {one.device_serial for one in claimed} == set(host.serials)
    assert len({one.lease_id for one in claimed}) == 3
    for one in claimed:
        assert fleet.kinds(one.task_id) == ["queued", "assigned", "dispatched"]
        assert host.renew(one) is False
    assert host.claim_several() == []


def test_a_claim_takes_no_more_than_it_asks_for(fleet: Fleet, host: Host) -> None:
    for _ in range(3):
        fleet.submit()
    fleet.assign()
    assert len(host.claim_several(max_assignments=2)) == 2
    assert host.claim() is not None


def test_a_claim_takes_nothing_for_a_device_that_is_not_offered(fleet: Fleet, host: Host) -> None:
    for _ in range(3):
        fleet.submit()
    fleet.assign()
    request = host.claim_request("PHONE2", "PHONE9", max_assignments=64)
    assert [one.device_serial for one in claim_assignments(fleet.plane, host.host_id, request)] == ["PHONE2"]


def test_a_repeated_claim_gives_all_that_still_lives_with_its_cancels_and_renewed(
    fleet: Fleet, host: Host, database: Database
) -> None:
    for _ in range(3):
        fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    first = host.claim_several(claim_id=claim_id)
    host.report(first[0], "done")
    fleet.cancel(first[1].task_id)
    with database.transaction() as tx:
        tx.run("UPDATE leases SET expires_at = expires_at - interval '20 seconds'")
    again = host.claim_several(claim_id=claim_id)
    assert [one.lease_id for one in again] == [one.lease_id for one in first[1:]]
    assert [one.cancel_requested for one in again] == [True, False]
    assert all(one.lease_expires_at > first[0].lease_expires_at for one in again)
    assert fleet.show(first[1].task_id).cancellation.delivered_at is not None
    assert fleet.show(first[2].task_id).cancellation is None


def test_a_repeated_claim_takes_nothing_that_came_since(fleet: Fleet, host: Host) -> None:
    fleet.submit()
    fleet.assign()
    claim_id = uuid7()
    (first,) = host.claim_several(claim_id=claim_id)
    fleet.submit()
    fleet.assign()
    assert [one.lease_id for one in host.claim_several(claim_id=claim_id)] == [first.lease_id]
    host.report(first, "done")
    assert host.claim_several(claim_id=claim_id) == []
    assert host.claim() is not None


def test_one_of_two_requests_under_one_claim_id_answers_both(fleet: Fleet, host: Host) -> None:
    for _ in range(8):
        for _ in range(3):
            fleet.submit()
        fleet.assign()
        claim_id = uuid7()
        answers = at_once(*[lambda claim_id=claim_id: host.claim_several(max_assignments=2, claim_id=claim_id)] * 3)
        assert len({tuple(one.lease_id for one in claimed) for claimed in answers}) == 1
        rest = host.claim_several()
        assert (len(answers[0]), len(rest)) == (2, 1)
        for one in (*answers[0], *rest):
            host.report(one, "done")
            assert len(list_attempts(fleet.plane, one.task_id).attempts) == 1


def test_claims_and_cancels_of_many_at_once_lose_no_cancel(fleet: Fleet) -> None:
    hosts = [fleet.host(f"A{number}", f"B{number}", name=f"host{number}") for number in range(3)]
    for _ in range(4):
        tasks = [fleet.submit() for _ in range(6)]
        assert fleet.assign() == 6
        answers = at_once(
            *[host.claim_several for host in hosts], *[lambda task=task: fleet.cancel(task) for task in tasks[:3]]
        )
        given = [(host, one) for host, claimed in zip(hosts, answers, strict=False) for one in claimed]
        assert len({one.task_id for _, one in given}) == len(given) >= 3
        for host, one in given:
            assert host.renew(one) == (one.task_id in tasks[:3])
            host.report(one, "cancelled" if one.task_id in tasks[:3] else "done")
        assert all(fleet.show(task).status is TaskStatus.DONE for task in tasks[3:])
        settle_cancels(fleet.plane)
        assert all(fleet.show(task).status is TaskStatus.CANCELLED for task in tasks[:3])


def test_a_former_life_gets_neither_work_nor_what_it_was_given(fleet: Fleet, host: Host) -> None:
    fleet.submit()
    fleet.assign()
    claim_id, former = uuid7(), host.incarnation
    assert host.claim(claim_id=claim_id) is not None
    host.restart()
    host.incarnation = former
    with pytest.raises(StaleIncarnation):
        host.claim(claim_id=claim_id)


def test_a_claim_of_a_host_that_is_not_known_is_refused(fleet: Fleet, host: Host) -> None:
    with pytest.raises(HostNotFound):
        claim_assignments(fleet.plane, uuid7(), host.claim_request())


def test_the_hosts_with_unclaimed_work_are_known_at_one_look(fleet: Fleet, host: Host) -> None:
    fleet.host("PHONE4", name="other").serials = []
    assert hosts_with_assignments(fleet.plane) == frozenset()
    fleet.submit(requires=[{"label": "serial", "value": "PHONE1"}])
    cancelled = fleet.submit(requires=[{"label": "serial", "value": "PHONE4"}])
    fleet.assign()
    fleet.cancel(cancelled)
    assert hosts_with_assignments(fleet.plane) == {host.host_id}
    host.claim()
    assert hosts_with_assignments(fleet.plane) == frozenset()
