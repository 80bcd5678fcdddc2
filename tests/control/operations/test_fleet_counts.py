from control.operations.fleet_counts import DEVICE_STATES, count_fleet
from control.operations.hosts import mark_silent_hosts_offline, revoke_host
from control.operations.plane import Plane
from corral.contract.fleet import DeviceState
from tests.control.fleet import Fleet


def test_an_empty_fleet_is_shown_with_a_zero_for_everything(plane: Plane) -> None:
    counts = count_fleet(plane)
    assert counts.tasks == {"queued": 0, "assigned": 0, "dispatched": 0}
    assert counts.cancels == {"assigned": 0, "dispatched": 0}
    assert counts.leases == {"fresh": 0, "aging": 0, "low": 0, "expired": 0}
    assert counts.hosts == {"online": 0, "draining": 0, "offline": 0}
    assert counts.devices == dict.fromkeys(DEVICE_STATES, 0)
    assert (counts.oldest_queued_seconds, counts.oldest_cancel_seconds) == (0, 0)


def test_what_is_alive_is_counted_and_what_has_ended_is_not(plane: Plane, fleet: Fleet) -> None:
    host = fleet.host("one", "two", "three")
    host.report(fleet.running(host), "done")
    fleet.submit()
    fleet.submit()
    fleet.assign()
    fresh, expired = host.claim_several()
    fleet.expire(expired)
    fleet.cancel(fresh.task_id)
    for _ in range(3):
        fleet.submit()
    with plane.database.transaction() as tx:
        tx.run("UPDATE scheduled_tasks SET queued_at = queued_at - interval '1 hour' WHERE status = 'queued'")
        tx.run("UPDATE scheduled_tasks SET cancel_requested_at = cancel_requested_at - interval '9 s'")
    counts = count_fleet(plane)
    assert counts.tasks == {"queued": 3, "assigned": 0, "dispatched": 2}
    assert 3600 <= counts.oldest_queued_seconds < 3700
    assert counts.cancels == {"assigned": 0, "dispatched": 1}
    assert 9 <= counts.oldest_cancel_seconds < 100
    assert counts.leases == {"fresh": 1, "aging": 0, "low": 0, "expired": 1}
    assert 0 <= counts.run_ages_seconds["api"] < 100


def test_a_lease_that_misses_its_renewals_goes_through_thirds(plane: Plane, fleet: Fleet) -> None:
    fleet.running(fleet.host())
    for seconds, remaining in ((15, "aging"), (5, "low"), (-1, "expired")):
        with plane.database.transaction() as tx:
            tx.run("UPDATE leases SET expires_at = corral_now() + make_interval(secs => :s)", s=seconds)
        assert count_fleet(plane).leases[remaining] == 1


def test_hosts_and_devices_are_counted_by_what_they_are_good_for(plane: Plane, fleet: Fleet) -> None:
    fleet.host("a", "b", name="online")
    fleet.host("c", name="sick").beat(state=DeviceState.UNAUTHORIZED)
    fleet.host("d", name="draining").beat(draining=True)
    silent, gone = fleet.host("e", name="silent"), fleet.host("f", name="gone")
    revoke_host(plane, gone.host_id)
    with plane.database.transaction() as tx:
        tx.run("UPDATE hosts SET last_seen_at = last_seen_at - interval '1 day' WHERE host_id = :id", id=silent.host_id)
    fleet.api_has_been_up()
    mark_silent_hosts_offline(plane)
    counts = count_fleet(plane)
    assert counts.hosts == {"online": 2, "draining": 1, "offline": 1}
    assert {state: number for state, number in counts.devices.items() if number} == {
        "ready": 3,
        "unauthorized": 1,
        "host_offline": 1,
    }
