"""Artifacts over HTTP: up from a host, down to whoever may read the task."""

import hashlib
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from control.operations.plane import Plane
from tests.control.api.calls import CallingHost, problem, until
from tests.control.fleet import Fleet

Running = tuple[CallingHost, dict[str, Any]]


@pytest.fixture
def running(api: httpx.Client, fleet: Fleet) -> Running:
    host = CallingHost.enrol(api)
    fleet.submit()
    fleet.assign()
    return host, host.claim().json()["assignment"]


def upload(running: Running, name: str, content: bytes | Iterator[bytes], media_type: str = "image/png") -> Any:
    host, assignment = running
    path = f"/internal/v1/leases/{assignment['lease_id']}/artifacts/{name}"
    return host.api.put(path, content=content, headers={**host.headers, "Content-Type": media_type})


def test_what_a_host_uploads_can_be_listed_and_downloaded(api: httpx.Client, user: dict[str, str], running: Running):
    content = b"\x89PNG" + bytes(range(256)) * 6000
    stored = upload(running, "step-1.png", (content[n : n + 50_000] for n in range(0, len(content), 50_000)))
    assert stored.json() == {
        "name": "step-1.png",
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "is_late": False,
    }
    task = f"/v1/tasks/{running[1]['task_id']}/artifacts"
    (listed,) = api.get(task, headers=user).json()["artifacts"]
    assert (listed["name"], listed["attempt"], listed["media_type"]) == ("step-1.png", 1, "image/png")
    download = api.get(f"{task}/step-1.png", headers=user)
    assert download.content == content
    assert download.headers["content-type"] == "image/png"
    assert download.headers["content-disposition"] == 'attachment; filename="step-1.png"'
    assert download.headers["x-content-type-options"] == "nosniff"
    assert api.get(f"{task}/step-1.png?attempt=1", headers=user).status_code == 200
    problem(api.get(f"{task}/step-1.png?attempt=2", headers=user), 404, "artifact_not_found")


def test_a_body_over_the_json_limit_is_fine_as_an_artifact(running: Running):
    assert upload(running, "long.log", b"x" * 1_900_000, "text/plain").status_code == 200


def test_an_artifact_over_its_limit_is_refused_and_not_kept(api: httpx.Client, user: dict[str, str], running: Running):
    problem(upload(running, "big.bin", b"x" * 2_000_001), 413, "body_too_large")
    problem(upload(running, "big.bin", (b"x" * 100_000 for _ in range(21))), 413, "body_too_large")
    assert api.get(f"/v1/tasks/{running[1]['task_id']}/artifacts", headers=user).json() == {"artifacts": []}


@pytest.mark.parametrize("name", [".hidden", "a%2Fb", "..%2F..%2Fetc%2Fpasswd", "a%00b", "x" * 201, "a b", "%2e%2e"])
def test_a_name_that_could_leave_its_folder_is_refused(running: Running, name: str):
    assert upload(running, name, b"x").status_code in {404, 422}


def test_an_unknown_artifact_is_not_found(api: httpx.Client, user: dict[str, str], running: Running):
    problem(api.get(f"/v1/tasks/{running[1]['task_id']}/artifacts/none.png", headers=user), 404, "artifact_not_found")


def test_an_upload_that_breaks_off_leaves_nothing(
    api: httpx.Client, user: dict[str, str], running: Running, plane: Plane
):
    host, assignment = running
    head = (
        f"PUT /internal/v1/leases/{assignment['lease_id']}/artifacts/cut.png HTTP/1.1\r\nHost: api\r\n"
        f"Authorization: {host.headers['Authorization']}\r\nContent-Length: 1000000\r\n\r\n"
    )
    folder = plane.artifacts._root
    with socket.create_connection((api.base_url.host, api.base_url.port)) as client:
        client.sendall(head.encode() + b"x" * 200_000)
        until(lambda: any(folder.rglob("*.partial")))
    until(lambda: not any(folder.rglob("*.partial")))
    assert api.get(f"/v1/tasks/{assignment['task_id']}/artifacts", headers=user).json() == {"artifacts": []}
