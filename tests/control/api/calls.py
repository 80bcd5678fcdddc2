"""What a test says to the API in one line."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from corral.contract.identifiers import uuid7
from tests.control.fleet import FLOW

DEADLINE_SECONDS = 20.0
JOIN_TOKEN = "a join token for tests"
SUBMISSION: dict[str, Any] = {"kind": "flow", "flow": FLOW}


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer that must be one."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["code"] == code, document
    assert document["status"] == status
    assert document["type"] == f"urn:corral:problem:{code}"
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == response.headers["x-request-id"]
    return document


def until(condition: Callable[[], Any]) -> Any:
    """Wait for the condition, and answer with what it was."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return answer


@dataclass
class CallingHost:
    """A host that enrols, beats and claims over HTTP."""

    api: httpx.Client
    host_id: UUID
    headers: dict[str, str]
    incarnation: UUID
    serial: str = "PHONE1"

    @classmethod
    def enrol(cls, api: Any) -> "CallingHost":
        answer = api.post(
            "/internal/v1/hosts/register",
            json={"name": "bench"},
            headers={"Authorization": f"Bearer {JOIN_TOKEN}"},
        )
        assert answer.status_code == 200, answer.text
        headers = {"Authorization": f"Bearer {answer.json()['credential']}"}
        host = cls(api, UUID(answer.json()["host_id"]), headers, uuid7())
        assert host.beat().status_code == 200
        return host

    def beat(self, **more: Any) -> Any:
        return self.post(f"hosts/{self.host_id}/heartbeat", self.beat_body(**more))

    def beat_body(self, **more: Any) -> dict[str, Any]:
        return {
            "incarnation": str(self.incarnation),
            "devices": [{"serial": self.serial, "state": "ready"}],
            **more,
        }

    def claim(self, *, wait_ms: int = 0, **more: Any) -> Any:
        return self.post(f"hosts/{self.host_id}/claim", self.claim_body(wait_ms=wait_ms, **more))

    def claim_body(self, **more: Any) -> dict[str, Any]:
        return {
            "claim_id": str(uuid7()),
            "incarnation": str(self.incarnation),
            "free_devices": [self.serial],
            **more,
        }

    def renew(self, lease_id: str, **more: Any) -> Any:
        return self.post(f"leases/{lease_id}/renew", more)

    def report(self, lease_id: str, status: str, **more: Any) -> Any:
        return self.post(f"leases/{lease_id}/result", {"status": status, **more})

    def post(self, path: str, body: Any) -> Any:
        return self.api.post(f"/internal/v1/{path}", json=body, headers=self.headers)


def raw_claim(host: CallingHost) -> bytes:
    """A long claim as it goes over the wire, for a connection of its own."""
    return _raw_post(host, "claim", host.claim_body(wait_ms=25_000))


def raw_heartbeat(host: CallingHost) -> bytes:
    return _raw_post(host, "heartbeat", host.beat_body())


def _raw_post(host: CallingHost, call: str, content: dict[str, Any]) -> bytes:
    body = json.dumps(content).encode()
    head = (
        f"POST /internal/v1/hosts/{host.host_id}/{call} HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\n"
        f"Authorization: {host.headers['Authorization']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
