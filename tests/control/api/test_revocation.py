"""Keys and hosts that are void from one moment on, in the process that revokes and in the others."""

from collections.abc import Callable
from typing import Any

import httpx
from fastapi import FastAPI

from control.api.edge import Edge
from control.operations.keys import id_of_host, id_of_key, revoke_api_key
from control.operations.plane import Plane
from corral.contract.fleet import Scope
from tests.control.api.calls import SUBMISSION, CallingHost, problem, until
from tests.control.fleet import Fleet

Headers = dict[str, str]


def key_id_of(headers: Headers) -> str:
    return headers["Authorization"].split("_")[1]


def test_a_revoked_key_opens_nothing_from_the_answer_on(
    api: httpx.Client, user: Headers, key: Callable[..., Headers]
) -> None:
    reader = key(Scope.TASKS_READ, name="reader")
    assert api.get("/v1/tasks", headers=reader).status_code == 200
    for _ in range(2):
        revoked = api.delete(f"/v1/api-keys/{key_id_of(reader)}", headers=user)
        assert (revoked.status_code, revoked.json()["name"]) == (200, "reader")
        problem(api.get("/v1/tasks", headers=reader), 401, "unauthenticated")
    listed = {one["key_id"]: one["revoked_at"] for one in api.get("/v1/api-keys", headers=user).json()["keys"]}
    assert listed == {key_id_of(reader): revoked.json()["revoked_at"], key_id_of(user): None}
    problem(api.delete("/v1/api-keys/nobodys", headers=user), 404, "key_not_found")


def test_a_key_can_revoke_itself(api: httpx.Client, user: Headers) -> None:
    assert api.delete(f"/v1/api-keys/{key_id_of(user)}", headers=user).status_code == 200
    problem(api.delete(f"/v1/api-keys/{key_id_of(user)}", headers=user), 401, "unauthenticated")


def test_a_key_that_another_process_revoked_is_heard_of(
    api: httpx.Client, app: FastAPI, plane: Plane, user: Headers
) -> None:
    edge: Edge = app.state.edge
    until(lambda: edge.listener.is_connected)
    token = user["Authorization"].removeprefix("Bearer ")
    assert api.get("/v1/tasks", headers=user).status_code == 200
    assert edge.keys.known(token)
    revoke_api_key(plane, key_id_of(user))
    until(lambda: edge.keys.known(token) is None)
    problem(api.get("/v1/tasks", headers=user), 401, "unauthenticated")


def test_a_verified_caller_costs_no_look_into_postgres(
    api: httpx.Client, app: FastAPI, plane: Plane, user: Headers
) -> None:
    edge: Edge = app.state.edge
    until(lambda: edge.listener.is_connected)
    host = CallingHost.enrol(api)
    assert api.get("/v1/tasks", headers=user).status_code == 200
    with plane.database.transaction() as tx:
        tx.run("UPDATE api_keys SET revoked_at = now()")
        tx.run("UPDATE hosts SET revoked_at = now()")
    assert api.get("/v1/tasks", headers=user).status_code == 200
    problem(host.report(str(host.host_id), "done"), 409, "stale_lease")
    edge.keys.drop(id_of_key(key_id_of(user)))
    edge.hosts.drop(id_of_host(host.host_id))
    problem(api.get("/v1/tasks", headers=user), 401, "unauthenticated")
    problem(host.report(str(host.host_id), "done"), 401, "unauthenticated")


def test_a_revoked_host_can_do_nothing_and_what_it_had_not_begun_goes_on_elsewhere(
    api: httpx.Client, user: Headers, fleet: Fleet
) -> None:
    host = CallingHost.enrol(api)
    task_id = api.post("/v1/tasks", json=SUBMISSION, headers=user).json()["task_id"]
    fleet.assign()
    for _ in range(2):
        revoked = api.post(f"/v1/hosts/{host.host_id}/revoke", headers=user)
        assert (revoked.status_code, revoked.json()["is_revoked"], revoked.json()["is_online"]) == (200, True, False)
    for answer in (host.beat(), host.claim(), host.renew(str(host.host_id)), host.report(str(host.host_id), "done")):
        problem(answer, 401, "unauthenticated")
    assert [one["is_revoked"] for one in api.get("/v1/hosts", headers=user).json()["hosts"]] == [True]
    fleet.assign()
    assert api.get(f"/v1/tasks/{task_id}", headers=user).json()["status"] == "queued"
    other = CallingHost.enrol(api)
    fleet.assign()
    assert other.claim().json()["assignment"]["task_id"] == task_id


def test_the_runs_of_a_revoked_host_end_with_their_leases(api: httpx.Client, user: Headers, fleet: Fleet) -> None:
    host = CallingHost.enrol(api)
    task_id = api.post("/v1/tasks", json=SUBMISSION, headers=user).json()["task_id"]
    fleet.assign()
    lease_id = host.claim().json()["assignment"]["lease_id"]
    assert host.renew(lease_id).status_code == 200
    assert api.post(f"/v1/hosts/{host.host_id}/revoke", headers=user).json()["running"] == 1
    problem(host.renew(lease_id), 401, "unauthenticated")
    assert api.get(f"/v1/tasks/{task_id}", headers=user).json()["status"] == "dispatched"


def test_the_metrics_of_a_process_need_no_key_and_name_every_family(api: httpx.Client, user: Headers) -> None:
    api.get("/v1/tasks", headers=user)
    page = api.get("/metrics")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/plain")
    families: dict[str, Any] = dict(
        line.split(" ")[2:4] for line in page.text.splitlines() if line.startswith("# TYPE")
    )
    assert {
        "corral_cancel_hop_seconds": "histogram",
        "corral_renewals_total": "counter",
        "corral_renewal_batches_total": "counter",
        "corral_renewal_batch_rows": "histogram",
        "corral_held_renewals": "gauge",
        "corral_held_claims": "gauge",
        "corral_sweeps_run_by_api_total": "counter",
        "corral_signals_failures_total": "counter",
        "corral_http_request_seconds": "histogram",
    }.items() <= families.items()
    assert 'corral_http_request_seconds_count{route="/v1/tasks",status="2xx"}' in page.text
    for hop in ("committed", "marked", "delivered", "seen"):
        assert f'corral_cancel_hop_seconds_count{{hop="{hop}"}}' in page.text
