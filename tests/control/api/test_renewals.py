"""Renewals over HTTP: what is answered in front of FastAPI and what is answered behind it are the same."""

import json
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from control.app.main import create_app
from control.app.settings import Settings
from control.artifacts import ArtifactFolder
from control.operations.plane import Plane
from control.renewals import bodies
from control.store.database import Database
from corral.contract import host_protocol
from corral.contract.identifiers import uuid7
from corral.contract.tasks import Progress
from corral.stack.ports import free_port
from tests.control.api.calls import CallingHost, problem, until
from tests.control.api.serving import served
from tests.control.fleet import Fleet, RecordedRings, RecordedWakeups

JSON = "application/json"


class Caller:
    """A host with two running tasks, whose credential the server has verified."""

    def __init__(self, api: httpx.Client, fleet: Fleet) -> None:
        self.api = api
        self.host = CallingHost.enrol(api)
        fleet.submit()
        fleet.assign()
        self.task = self.host.claim().json()["assignment"]

    @property
    def lease_id(self) -> str:
        return self.task["lease_id"]

    @property
    def lease_path(self) -> str:
        return f"leases/{self.lease_id}/renew"

    @property
    def host_path(self) -> str:
        return f"hosts/{self.host.host_id}/renew"

    def of_host(self, *lease_ids: str, **more: Any) -> dict[str, Any]:
        return {"leases": [{"lease_id": one} for one in lease_ids or (self.lease_id,)], **more}

    def send(self, path: str, content: Any, **headers: str) -> httpx.Response:
        return self.api.post(
            f"/internal/v1/{path}",
            content=content,
            headers={**self.host.headers, "Content-Type": JSON, **{n.replace("_", "-"): v for n, v in headers.items()}},
        )

    def in_front(self, path: str, body: Any) -> httpx.Response:
        answer = self.send(path, json.dumps(body, ensure_ascii=False).encode())
        # Only behind is a request without an id given one, or in front when it is refused.
        assert answer.status_code != 200 or "x-request-id" not in answer.headers
        return answer


def with_charset(caller: Caller, path: str, body: Any) -> httpx.Response:
    return caller.send(path, json.dumps(body).encode(), content_type="application/json; charset=utf-8")


def in_chunks(caller: Caller, path: str, body: Any) -> httpx.Response:
    text = json.dumps(body).encode()
    return caller.send(path, iter([text[:7], text[7:]]))


def in_capitals(caller: Caller, path: str, body: Any) -> httpx.Response:
    room, name, call = path.split("/")
    return caller.send(f"{room}/{name.upper()}/{call}", json.dumps(body).encode())


def with_an_escape(caller: Caller, path: str, body: Any) -> httpx.Response:
    return caller.send(path, json.dumps({**body, "more": "é"}).encode())


def with_an_odd_request_id(caller: Caller, path: str, body: Any) -> httpx.Response:
    return caller.send(path, json.dumps(body).encode(), x_request_id="a b c")


BEHIND = [with_charset, in_chunks, in_capitals, with_an_escape, with_an_odd_request_id]


@pytest.fixture
def caller(api: httpx.Client, fleet: Fleet) -> Caller:
    return Caller(api, fleet)


def same(one: Any, other: Any) -> bool:
    """Whether two answers say the same, apart from the milliseconds between them and how an instant is written."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(
                abs(value - other[name]) < 10_000 if name.endswith("_ms") and value else same(value, other[name])
                for name, value in one.items()
            )
        case list(), list():
            return len(one) == len(other) and all(map(same, one, other))
        case str(), str() if one.startswith("20") and "T" in one:
            return datetime.fromisoformat(one) == datetime.fromisoformat(other)
        case _:
            return one == other


@pytest.mark.parametrize("send", BEHIND)
def test_one_lease_is_answered_the_same_behind(caller: Caller, send: Callable[..., httpx.Response]) -> None:
    body = {"progress": {"step": 2, "steps_total": 5, "text": "tapOn Zurück"}, "cancel_seen": False}
    front = caller.in_front(caller.lease_path, body)
    behind = send(caller, caller.lease_path, body)
    assert (front.status_code, behind.status_code) == (200, 200)
    assert "x-request-id" in behind.headers
    assert same(front.json(), behind.json()), (front.json(), behind.json())
    assert front.headers["content-type"] == behind.headers["content-type"]


@pytest.mark.parametrize("send", BEHIND)
def test_all_leases_of_a_host_are_answered_the_same_behind(caller: Caller, send: Callable[..., httpx.Response]) -> None:
    body = caller.of_host(caller.lease_id, str(uuid4()))
    front = caller.in_front(caller.host_path, body)
    behind = send(caller, caller.host_path, body)
    assert (front.status_code, behind.status_code) == (200, 200)
    assert [lease["status"] for lease in front.json()["leases"]] == ["renewed", "stale"]
    assert same(front.json()["leases"][1], behind.json()["leases"][1])
    assert front.json().keys() == behind.json().keys()
    assert front.json()["leases"][0].keys() == behind.json()["leases"][0].keys()
    assert front.json()["renew_after_ms"] == behind.json()["renew_after_ms"] > 0


def test_progress_is_stored_the_same_from_both_sides(caller: Caller, user: dict[str, str]) -> None:
    stored: list[Any] = []
    for send in (Caller.in_front, with_charset):
        progress = {"step": 3, "text": 'Zurück "zu" \\ \t 📱 ', "later_field": [1]}
        body = {"progress": progress, "cancel_seen": True}
        assert send(caller, caller.lease_path, body).status_code == 200
        stored.append(caller.api.get(f"/v1/tasks/{caller.task['task_id']}", headers=user).json()["progress"])
    assert stored[0] == stored[1]
    assert stored[0]["text"] == 'Zurück "zu" \\ \t 📱 '


REFUSED: dict[str, tuple[Callable[[Caller], str], Callable[[Caller], Any], int, str]] = {
    "a lease that has ended": (lambda _: f"leases/{uuid7()}/renew", lambda _: {}, 409, "stale_lease"),
    "another host": (lambda _: f"hosts/{uuid7()}/renew", lambda caller: caller.of_host(), 403, "forbidden"),
    "no leases": (lambda caller: caller.host_path, lambda _: {"leases": []}, 422, "invalid_request"),
    "too many leases": (
        lambda caller: caller.host_path,
        lambda caller: caller.of_host(*[str(uuid4()) for _ in range(257)]),
        422,
        "invalid_request",
    ),
    "too long a wait": (
        lambda caller: caller.host_path,
        lambda caller: caller.of_host(wait_ms=25_001),
        422,
        "invalid_request",
    ),
    "a wait below nothing": (
        lambda caller: caller.host_path,
        lambda caller: caller.of_host(wait_ms=-1),
        422,
        "invalid_request",
    ),
    "no lease id": (lambda caller: caller.host_path, lambda caller: caller.of_host("x"), 422, "invalid_request"),
    "two lease ids in one": (
        lambda caller: caller.host_path,
        lambda caller: caller.of_host(f"{caller.lease_id},{caller.lease_id}"),
        422,
        "invalid_request",
    ),
    "two halves of a lease id": (
        lambda caller: caller.host_path,
        lambda caller: caller.of_host(caller.lease_id[:18], caller.lease_id[18:]),
        422,
        "invalid_request",
    ),
    "no object": (lambda caller: caller.lease_path, lambda _: [], 422, "invalid_request"),
    "a step below nothing": (
        lambda caller: caller.lease_path,
        lambda _: {"progress": {"step": -1}},
        422,
        "invalid_request",
    ),
    "a step beyond counting": (
        lambda caller: caller.lease_path,
        lambda _: {"progress": {"step": 10**30}},
        422,
        "invalid_request",
    ),
    "a long text": (
        lambda caller: caller.lease_path,
        lambda _: {"progress": {"text": "x" * 501}},
        422,
        "invalid_request",
    ),
    "another checkpoint": (
        lambda caller: caller.lease_path,
        lambda _: {"progress": {"checkpoint": "lost"}},
        422,
        "invalid_request",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_refused_with_the_same_words(caller: Caller, what: str) -> None:
    path, body, status, code = REFUSED[what]
    at = path(caller)
    front = problem(caller.in_front(at, body(caller)), status, code)
    behind = problem(with_charset(caller, at, body(caller)), status, code)
    for document in (front, behind):
        del document["request_id"]
    assert front == behind


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{}}",
        b'{"cancel_seen": tru}',
        b'{"cancel_seen": false, "progress": {"text": "\xff"}}',
        b'{"progress": {"text": "\\u0000"}}',
        b'{"progress": {"text": "\\ud800"}}',
        b'{"more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_body_that_is_no_json_of_ours_is_refused(caller: Caller, body: bytes) -> None:
    problem(caller.send(caller.lease_path, body), 422, "invalid_request")
    problem(caller.send(caller.host_path, body), 422, "invalid_request")


def test_an_empty_body_is_a_renewal_of_one_lease_and_none_of_a_host(caller: Caller) -> None:
    assert caller.send(caller.lease_path, b"").json()["status"] == "renewed"
    problem(caller.send(caller.host_path, b""), 422, "invalid_request")


def test_a_large_body_is_answered_behind_and_a_huge_one_is_refused(caller: Caller) -> None:
    assert caller.send(caller.lease_path, b'{"more": "' + b"x" * 300_000 + b'"}').json()["status"] == "renewed"
    problem(caller.send(caller.lease_path, b'{"more": "' + b"x" * 1_100_000 + b'"}'), 413, "body_too_large")


@pytest.mark.parametrize("authorization", ["Bearer corral_host_nobody", "Basic eDp5", "Bearer", ""])
def test_who_is_not_known_is_told_so(caller: Caller, authorization: str) -> None:
    for path, body in ((caller.lease_path, {}), (caller.host_path, caller.of_host())):
        answer = caller.api.post(f"/internal/v1/{path}", json=body, headers={"Authorization": authorization})
        problem(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_host_that_was_revoked_is_refused_at_once_on_both_sides(caller: Caller, user: dict[str, str]) -> None:
    assert caller.in_front(caller.lease_path, {}).status_code == 200
    assert caller.api.post(f"/v1/hosts/{caller.host.host_id}/revoke", headers=user).status_code == 200
    problem(caller.in_front(caller.lease_path, {}), 401, "unauthenticated")
    problem(with_charset(caller, caller.host_path, caller.of_host()), 401, "unauthenticated")


def test_a_request_id_comes_back_from_both_sides(caller: Caller) -> None:
    for content_type in (JSON, "application/json; charset=utf-8"):
        answer = caller.send(caller.lease_path, b"{}", x_request_id="req-1", content_type=content_type)
        assert answer.headers["x-request-id"] == "req-1"
    answer = caller.send(f"leases/{uuid7()}/renew", b"{}", x_request_id="req-2")
    assert problem(answer, 409, "stale_lease")["request_id"] == "req-2"


def test_only_posts_renew(caller: Caller) -> None:
    for path in (caller.lease_path, caller.host_path):
        for method in ("GET", "PUT", "DELETE"):
            answer = caller.api.request(method, f"/internal/v1/{path}", headers=caller.host.headers)
            problem(answer, 405, "method_not_allowed")
            assert answer.headers["allow"] == "POST"


def test_both_calls_are_described(api: httpx.Client) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    for path in ("/internal/v1/leases/{lease_id}/renew", "/internal/v1/hosts/{host_id}/renew"):
        assert {"200", "409" if "lease" in path else "403", "422"} & paths[path]["post"]["responses"].keys()
        assert paths[path]["post"]["requestBody"]


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8"])
def test_a_cancel_ends_a_hold_on_both_sides(
    caller: Caller, user: dict[str, str], app: FastAPI, content_type: str
) -> None:
    caller.in_front(caller.host_path, caller.of_host())
    with held(caller, json.dumps(caller.of_host(wait_ms=20_000)).encode(), content_type) as connection:
        until(lambda: str(caller.host.host_id) in app.state.edge.renewals._held._holds)
        assert caller.api.post(f"/v1/tasks/{caller.task['task_id']}/cancel", headers=user).status_code == 202
        said = connection.makefile("rb").read()
    assert said.startswith(b"HTTP/1.1 200"), said
    assert b'"cancel_requested":true' in said


def test_a_caller_who_hangs_up_during_a_hold_leaves_nothing_behind(caller: Caller, app: FastAPI) -> None:
    holds = app.state.edge.renewals._held._holds
    for content_type in (JSON, "application/json; charset=utf-8"):
        caller.in_front(caller.host_path, caller.of_host())
        with held(caller, json.dumps(caller.of_host(wait_ms=300)).encode(), content_type):
            until(lambda: str(caller.host.host_id) in holds)
        until(lambda: str(caller.host.host_id) not in holds)
    assert caller.in_front(caller.host_path, caller.of_host()).status_code == 200


def held(caller: Caller, body: bytes, content_type: str) -> socket.socket:
    """A renewal that was sent over a connection of its own, which is closed after the answer."""
    address = caller.api.base_url
    # Less than a third of the lease, when Postgres is asked anyway.
    connection = socket.create_connection((address.host, address.port or 80), timeout=8)
    head = (
        f"POST /internal/v1/{caller.host_path} HTTP/1.1\r\nHost: api\r\nContent-Type: {content_type}\r\n"
        f"Connection: close\r\nAuthorization: {caller.host.headers['Authorization']}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def test_a_database_that_is_away_is_told_in_front_as_behind(settings: Settings, tmp_path: Path) -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    plane = Plane(
        database=Database.connect(url, pool_size=2, application_name="test"),
        doorbell=RecordedRings(),
        wakeups=RecordedWakeups(),
        artifacts=ArtifactFolder(tmp_path),
    )
    app = create_app(settings.model_copy(update={"database_url": type(settings.database_url)(url)}), plane, sweeps=())
    host_id, edge = uuid7(), app.state.edge
    with served(app, settings) as api:
        for content_type in (JSON, "application/json; charset=utf-8"):
            edge.hosts.remember(edge.hosts.begin(), "a credential", host_id, token_id="host:here")
            for path, body in (
                (f"leases/{uuid7()}/renew", {}),
                (f"hosts/{host_id}/renew", {"leases": [{"lease_id": str(uuid7())}]}),
            ):
                answer = api.post(
                    f"/internal/v1/{path}",
                    content=json.dumps(body),
                    headers={"Authorization": "Bearer a credential", "Content-Type": content_type},
                )
                assert answer.headers["retry-after"]
                problem(answer, 503, "not_ready")


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (bodies.Progress, Progress),
        (bodies.LeaseRenewal, host_protocol.LeaseRenewalRequest),
        (bodies.HeldLease, host_protocol.HeldLease),
        (bodies.HostRenewal, host_protocol.HostRenewalRequest),
        (bodies.Renewed, host_protocol.LeaseRenewalResponse),
        (bodies.RenewedLease, host_protocol.RenewedLease),
        (bodies.HostRenewed, host_protocol.HostRenewalResponse),
    ],
)
def test_the_bodies_in_front_have_the_fields_of_the_contract(
    body: type[msgspec.Struct], model: type[BaseModel]
) -> None:
    ours = {field.encode_name: field for field in msgspec.structs.fields(body)}
    theirs = model.model_fields
    assert ours.keys() == theirs.keys()
    for name, field in ours.items():
        default = theirs[name].get_default(call_default_factory=True)
        if field.default_factory is not msgspec.NODEFAULT:
            assert field.default_factory() == default, name
        elif field.default is not msgspec.NODEFAULT:
            assert field.default == default, name
        elif body not in ANSWERS:
            assert default is PydanticUndefined, name


#: What is always said may be missing for the reader of an older one.
ANSWERS = {bodies.Renewed, bodies.RenewedLease, bodies.HostRenewed}
