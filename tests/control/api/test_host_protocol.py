"""The life of a lease as a host lives it over HTTP."""

from typing import Any

import httpx

from control.operations.reap import reap_expired_leases
from corral.contract.host_protocol import Assignment
from tests.control.api.calls import CallingHost, problem
from tests.control.fleet import Fleet


def claimed(api: httpx.Client, fleet: Fleet) -> tuple[CallingHost, dict[str, Any]]:
    host = CallingHost.enrol(api)
    fleet.submit()
    fleet.assign()
    return host, host.claim().json()["assignment"]


def test_a_heartbeat_tells_how_often_to_beat_and_whether_to_drain(api: httpx.Client, user: dict[str, str]):
    host = CallingHost.enrol(api)
    assert host.beat().json() == {"draining": False, "heartbeat_after_ms": 10_000, "lease_seconds": 30.0}
    assert api.post(f"/v1/hosts/{host.host_id}/drain", headers=user).json()["is_draining"] is not None
    assert host.beat().json()["draining"] is True
    api.post(f"/v1/hosts/{host.host_id}/drain", json={"draining": False}, headers=user)
    assert host.beat().json()["draining"] is False


def test_what_a_newer_host_says_beyond_the_known_is_skipped(api: httpx.Client):
    host = CallingHost.enrol(api)
    answer = host.beat(
        mood="fine",
        devices=[{"serial": "P", "state": "levitating", "thermals": {"soc": 41.5}}],
        supported_commands=["back"],
    )
    assert answer.status_code == 200


def test_a_claim_a_renewal_and_a_result_end_a_task(api: httpx.Client, fleet: Fleet, user: dict[str, str]):
    host, assignment = claimed(api, fleet)
    lease_id = assignment["lease_id"]
    assert assignment["attempt"] == 1
    assert 29_000 < assignment["lease_remaining_ms"] <= 30_000
    renewed = host.renew(lease_id, progress={"step": 1, "steps_total": 3, "text": "launchApp"}).json()
    assert (renewed["status"], renewed["cancel_requested"]) == ("renewed", False)
    assert 0 < renewed["renew_after_ms"] <= 10_000
    assert host.report(lease_id, "done").json()["status"] == "recorded"
    assert host.report(lease_id, "done").json()["status"] == "already_recorded"
    conflict = problem(host.report(lease_id, "failed", failure_reason="no"), 409, "result_conflict")
    assert conflict["context"]["recorded"]["status"] == "done"
    assert api.get(f"/v1/tasks/{assignment['task_id']}", headers=user).json()["status"] == "done"
    problem(host.renew(lease_id), 409, "stale_lease")


def test_a_renewal_without_a_body_is_a_renewal(api: httpx.Client, fleet: Fleet):
    host, assignment = claimed(api, fleet)
    answer = api.post(f"/internal/v1/leases/{assignment['lease_id']}/renew", headers=host.headers)
    assert answer.json()["status"] == "renewed"


def test_a_cancel_is_in_every_renewal_until_the_task_has_ended(api: httpx.Client, fleet: Fleet, user: dict[str, str]):
    host, assignment = claimed(api, fleet)
    refused = problem(host.report(assignment["lease_id"], "cancelled"), 409, "cancel_not_requested")
    assert refused["context"]["lease_id"] == assignment["lease_id"]
    assert api.post(f"/v1/tasks/{assignment['task_id']}/cancel", headers=user).status_code == 202
    for _ in range(2):
        assert host.renew(assignment["lease_id"], cancel_seen=True).json()["cancel_requested"] is True
    reported = host.report(assignment["lease_id"], "cancelled", stopped_by="step_boundary").json()
    assert reported["task_status"] == "cancelled"
    story = api.get(f"/v1/tasks/{assignment['task_id']}", headers=user).json()["cancellation"]
    assert (story["outcome"], story["stopped_by"], story["confirmed"]) == ("cancelled", "step_boundary", True)
    assert story["delivered_at"]
    assert story["seen_at"]


def deaf_to_a_cancel(api: httpx.Client, fleet: Fleet, user: dict[str, str]) -> tuple[CallingHost, Assignment]:
    """A host of before there were cancels: it renews without a word of them, and reads none in the answers."""
    host, assignment = claimed(api, fleet)
    assert api.post(f"/v1/tasks/{assignment['task_id']}/cancel", headers=user).status_code == 202
    assert host.renew(assignment["lease_id"]).json()["status"] == "renewed"
    return host, Assignment.model_validate(assignment)


def test_a_host_that_knows_no_cancel_ends_its_task_as_it_would(api: httpx.Client, fleet: Fleet, user: dict[str, str]):
    host, assignment = deaf_to_a_cancel(api, fleet, user)
    assert host.report(str(assignment.lease_id), "done").json()["task_status"] == "done"
    story = api.get(f"/v1/tasks/{assignment.task_id}", headers=user).json()["cancellation"]
    assert (story["outcome"], story["seen_at"]) == ("too_late", None)
    assert story["delivered_at"]


def test_the_task_of_a_host_that_knows_no_cancel_and_died_is_cancelled(
    api: httpx.Client, fleet: Fleet, user: dict[str, str]
):
    host, assignment = deaf_to_a_cancel(api, fleet, user)
    fleet.expire(assignment)
    assert reap_expired_leases(fleet.plane) == 1
    problem(host.report(str(assignment.lease_id), "done"), 409, "stale_lease")
    shown = api.get(f"/v1/tasks/{assignment.task_id}", headers=user).json()
    assert (shown["status"], shown["attempt"]) == ("cancelled", 1)
    assert (shown["cancellation"]["stopped_by"], shown["cancellation"]["confirmed"]) == ("reaper", False)


def test_a_former_life_of_a_host_is_told_so(api: httpx.Client):
    host = CallingHost.enrol(api)
    body = host.claim_body()
    fresh = CallingHost(api, host.host_id, host.headers, CallingHost.enrol(api).incarnation)
    fresh.beat()
    problem(
        host.post(f"hosts/{host.host_id}/heartbeat", {"incarnation": body["incarnation"]}), 409, "stale_incarnation"
    )
