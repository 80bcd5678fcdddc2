"""Hosts that come, go, restart and drain."""

import pytest

from control.domain.errors import HostNotFound, StaleIncarnation, Unauthenticated
from control.operations.hosts import list_devices, list_hosts, mark_silent_hosts_offline, register_host, request_drain
from control.operations.keys import authenticate_hosts, authenticate_key, create_api_key
from control.operations.submit import submit_task
from control.store.database import Database
from corral.contract.fleet import DeviceState, Scope
from corral.contract.host_protocol import HostRegistration
from corral.contract.identifiers import uuid7
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskKind, TaskSubmission
from tests.control.fleet import FLOW, Fleet


def test_a_restarted_host_loses_the_leases_of_its_former_life(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.restart()
    assert fleet.show(assignment.task_id).status is TaskStatus.QUEUED
    fleet.assign()
    again = host.claim()
    assert again is not None
    assert again.attempt == 2


def test_a_former_life_that_speaks_again_is_told_to_end(fleet: Fleet) -> None:
    host = fleet.host()
    former = host.incarnation
    host.restart()
    host.incarnation = former
    with pytest.raises(StaleIncarnation):
        host.beat()
    fleet.submit()
    fleet.assign()
    with pytest.raises(StaleIncarnation):
        host.claim()


@pytest.mark.parametrize("state", [state for state in DeviceState if state is not DeviceState.READY])
def test_only_a_ready_device_gets_tasks(fleet: Fleet, state: DeviceState) -> None:
    fleet.host().beat(state=state)
    fleet.submit()
    assert fleet.assign() == 0


def test_a_device_that_the_host_names_no_more_is_absent(fleet: Fleet) -> None:
    host = fleet.host("PHONE1", "PHONE2")
    host.serials = ["PHONE2"]
    host.beat()
    states = {device.serial: device.state for device in list_devices(fleet.plane).devices}
    assert states == {"PHONE1": DeviceState.ABSENT, "PHONE2": DeviceState.READY}


def test_a_draining_host_gets_no_tasks_until_the_drain_ends(fleet: Fleet) -> None:
    host = fleet.host()
    assert request_drain(fleet.plane, host.host_id, draining=True).is_draining
    fleet.submit()
    assert fleet.assign() == 0
    assert host.beat().draining is True
    request_drain(fleet.plane, host.host_id, draining=False)
    assert fleet.assign() == 1


def test_a_drain_of_an_unknown_host_is_refused(fleet: Fleet) -> None:
    with pytest.raises(HostNotFound):
        request_drain(fleet.plane, uuid7(), draining=True)


def test_silence_takes_a_host_offline_and_a_heartbeat_brings_it_back(fleet: Fleet, database: Database) -> None:
    host = fleet.host()
    fleet.api_has_been_up()
    with database.transaction() as tx:
        tx.run("UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes'")
    mark_silent_hosts_offline(fleet.plane)
    assert [host.is_online for host in list_hosts(fleet.plane).hosts] == [False]
    host.beat()
    assert [host.is_online for host in list_hosts(fleet.plane).hosts] == [True]


def test_nobody_is_taken_offline_for_a_silence_of_the_api(fleet: Fleet, database: Database) -> None:
    fleet.host()
    fleet.api_has_been_up(for_seconds=5)
    with database.transaction() as tx:
        tx.run("UPDATE hosts SET last_seen_at = corral_now() - interval '5 minutes'")
    assert mark_silent_hosts_offline(fleet.plane) == 0


def test_a_host_is_known_by_its_credential_alone(fleet: Fleet) -> None:
    registered = register_host(fleet.plane, HostRegistration(name="bench"))
    other = register_host(fleet.plane, HostRegistration(name="other"))
    wrong = [registered.credential + "x", f"corralhost_{uuid7().hex}_x", "corralhost_é_x", "", "x_y_z"]
    tokens = [registered.credential, *wrong, other.credential, registered.credential]
    expected = [registered.host_id, *[None] * len(wrong), other.host_id, registered.host_id]
    assert authenticate_hosts(fleet.plane, tokens) == expected


def test_a_key_is_known_by_its_secret_and_carries_its_scopes(fleet: Fleet) -> None:
    created = create_api_key(fleet.plane, name="ci", scopes=[Scope.TASKS_READ, Scope.TASKS_READ])
    principal = authenticate_key(fleet.plane, created.api_key)
    assert (principal.actor, principal.scopes) == ("key:ci", frozenset({Scope.TASKS_READ}))
    for wrong in (created.api_key[:-1], "corral_nobody_secret", "corral__", "bearer"):
        with pytest.raises(Unauthenticated):
            authenticate_key(fleet.plane, wrong)


def test_two_keys_of_one_name_do_not_share_their_idempotency_keys(fleet: Fleet) -> None:
    submission = TaskSubmission(kind=TaskKind.FLOW, flow=FLOW)
    principals = [
        authenticate_key(fleet.plane, create_api_key(fleet.plane, name="ci", scopes=[Scope.TASKS_SUBMIT]).api_key)
        for _ in range(2)
    ]
    tasks = {
        submit_task(fleet.plane, submission, principal=one, idempotency_key="nightly").task.task_id
        for one in principals
    }
    assert len(tasks) == 2
