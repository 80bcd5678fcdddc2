"""Who may call what. The table below must name every public route; the OpenAPI document proves it."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest

from corral.contract.fleet import Scope
from tests.control.api.calls import JOIN_TOKEN, CallingHost, problem

ID = str(uuid4())
SCOPE_OF = {
    ("post", "/v1/tasks"): Scope.TASKS_SUBMIT,
    ("get", "/v1/tasks"): Scope.TASKS_READ,
    ("get", "/v1/tasks/{task_id}"): Scope.TASKS_READ,
    ("get", "/v1/tasks/{task_id}/attempts"): Scope.TASKS_READ,
    ("get", "/v1/tasks/{task_id}/events"): Scope.TASKS_READ,
    ("get", "/v1/tasks/{task_id}/artifacts"): Scope.TASKS_READ,
    ("get", "/v1/tasks/{task_id}/artifacts/{name}"): Scope.TASKS_READ,
    ("post", "/v1/tasks/{task_id}/cancel"): Scope.TASKS_SUBMIT,
    ("get", "/v1/hosts"): Scope.HOSTS_READ,
    ("post", "/v1/hosts/{host_id}/drain"): Scope.HOSTS_ADMIN,
    ("post", "/v1/hosts/{host_id}/revoke"): Scope.HOSTS_ADMIN,
    ("get", "/v1/devices"): Scope.HOSTS_READ,
    ("post", "/v1/api-keys"): Scope.KEYS_ADMIN,
    ("get", "/v1/api-keys"): Scope.KEYS_ADMIN,
    ("delete", "/v1/api-keys/{key_id}"): Scope.KEYS_ADMIN,
}
OPEN = {("get", "/healthz"), ("get", "/readyz"), ("get", "/metrics")}
Headers = dict[str, str]


def call(api: httpx.Client, route: tuple[str, str], headers: Headers | None = None) -> httpx.Response:
    method, template = route
    path = template.format(task_id=ID, host_id=ID, lease_id=ID, key_id="k", name="a.png")
    return api.request(method, path, headers=headers)


def documented(api: httpx.Client) -> dict[tuple[str, str], Any]:
    paths = api.get("/openapi.json").json()["paths"]
    return {(method, path): call for path, calls in paths.items() for method, call in calls.items()}


def test_every_route_asks_for_the_scope_that_is_written_here(api: httpx.Client):
    routes = documented(api)
    public = {route for route in routes if not route[1].startswith("/internal/")}
    assert public == set(SCOPE_OF) | OPEN
    assert {route: routes[route]["security"] for route in SCOPE_OF} == {
        route: [{"ApiKey": [scope.value]}] for route, scope in SCOPE_OF.items()
    }


@pytest.mark.parametrize("route", SCOPE_OF, ids=" ".join)
def test_a_key_without_the_scope_is_forbidden(api: httpx.Client, key: Callable[..., Headers], route: tuple[str, str]):
    others = key(*set(Scope) - {SCOPE_OF[route]})
    document = problem(call(api, route, others), 403, "forbidden")
    assert SCOPE_OF[route] in document["detail"]


@pytest.mark.parametrize("route", SCOPE_OF, ids=" ".join)
def test_a_key_with_the_scope_alone_gets_in(api: httpx.Client, key: Callable[..., Headers], route: tuple[str, str]):
    assert call(api, route, key(SCOPE_OF[route])).status_code in {200, 404, 422}


def test_without_a_key_every_route_but_the_probes_asks_for_one(api: httpx.Client):
    for route in set(documented(api)) - OPEN:
        answer = call(api, route)
        problem(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Basic dXNlcjpwYXNz",
        "Bearer corral",
        "Bearer corral_",
        "Bearer corral_unknown_secret",
        "Bearer corral_\u00e9_x",
        "Bearer corralhost_x_y",
        "Bearer " + "x" * 5000,
    ],
)
def test_a_token_that_nobody_gave_out_is_not_authenticated(api: httpx.Client, given: str):
    headers = [("Authorization", given.encode("latin-1"))]
    problem(api.get("/v1/tasks", headers=headers), 401, "unauthenticated")
    problem(api.post(f"/internal/v1/leases/{ID}/renew", headers=headers), 401, "unauthenticated")
    problem(api.post("/internal/v1/hosts/register", headers=headers), 401, "unauthenticated")


def test_a_secret_that_is_almost_right_is_wrong(api: httpx.Client, user: Headers):
    problem(api.get("/v1/tasks", headers={"Authorization": user["Authorization"][:-1]}), 401, "unauthenticated")


def test_the_caller_is_known_before_the_body_is_judged(api: httpx.Client, key: Callable[..., Headers]):
    problem(api.post("/v1/tasks", content=b"{", headers={"Content-Type": "application/json"}), 401, "unauthenticated")
    reader = {**key(Scope.TASKS_READ), "Content-Type": "application/json"}
    problem(api.post("/v1/tasks", content=b"{", headers=reader), 403, "forbidden")


def test_a_key_cannot_give_away_a_scope_that_it_lacks(api: httpx.Client, key: Callable[..., Headers]):
    admin = key(Scope.KEYS_ADMIN, Scope.TASKS_READ)
    created = api.post("/v1/api-keys", json={"name": "ci", "scopes": ["tasks:read"]}, headers=admin)
    assert created.status_code == 201
    bearer = {"Authorization": f"Bearer {created.json()['api_key']}"}
    assert api.get("/v1/tasks", headers=bearer).status_code == 200
    more = api.post("/v1/api-keys", json={"name": "ci", "scopes": ["tasks:read", "tasks:submit"]}, headers=admin)
    assert "tasks:submit" in problem(more, 403, "forbidden")["detail"]


def test_a_host_joins_with_the_join_token_alone(api: httpx.Client, user: Headers):
    register = "/internal/v1/hosts/register"
    problem(api.post(register, json={"name": "x"}, headers=user), 401, "unauthenticated")
    wrong = {"Authorization": f"Bearer {JOIN_TOKEN}!"}
    problem(api.post(register, json={"name": "x"}, headers=wrong), 401, "unauthenticated")
    assert CallingHost.enrol(api).host_id


def test_a_credential_is_good_for_its_own_host_alone(api: httpx.Client):
    mine, other = CallingHost.enrol(api), CallingHost.enrol(api)
    for path in ("heartbeat", "claim"):
        body = mine.claim_body() if path == "claim" else {"incarnation": str(mine.incarnation)}
        problem(mine.post(f"hosts/{other.host_id}/{path}", body), 403, "forbidden")


def test_the_lease_of_another_host_is_no_lease(api: httpx.Client, fleet: Any):
    mine, other = CallingHost.enrol(api), CallingHost.enrol(api)
    fleet.submit()
    fleet.assign()
    claimed = [host.claim().json()["assignment"] for host in (mine, other)]
    lease_id = next(one for one in claimed if one)["lease_id"]
    intruder = other if claimed[0] else mine
    problem(intruder.renew(lease_id), 409, "stale_lease")
    problem(intruder.report(lease_id, "done"), 409, "stale_lease")
    upload = api.put(f"/internal/v1/leases/{lease_id}/artifacts/a.png", content=b"x", headers=intruder.headers)
    problem(upload, 409, "stale_lease")


def test_api_keys_and_host_credentials_do_not_open_each_others_doors(api: httpx.Client, user: Headers):
    host = CallingHost.enrol(api)
    problem(api.get("/v1/tasks", headers=host.headers), 401, "unauthenticated")
    problem(api.post(f"/internal/v1/leases/{ID}/renew", json={}, headers=user), 401, "unauthenticated")
