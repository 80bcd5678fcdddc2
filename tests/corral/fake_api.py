"""A control plane for the far side of client and command line: it answers over HTTP what a test tells it to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "corral_test_secret"
TASK_ID = "01a22e0a-9193-7ac8-af38-e37d50ecfd8e"
HOST_ID = "01a22e0a-8529-7185-9a2f-a42b06128c4d"
DEVICE_ID = "01a22e0a-93d0-716a-aac1-c8d041165903"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


Answer = tuple[int, Any]


@dataclass
class FakeApi:
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    _answers: dict[tuple[str, str], list[Answer | Callable[[Request], Answer]]] = field(default_factory=dict)

    def answer(self, method: str, path: str, *answers: Answer | Callable[[Request], Answer]) -> None:
        """Answer calls of this route with these, one after the other; the last one stays."""
        self._answers[method, path] = list(answers)

    def respond(self, request: Request) -> Answer:
        self.requests.append(request)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return 401, problem("unauthenticated", 401, "this API key is not known here")
        answers = self._answers.get((request.method, request.path))
        if answers is None:
            return 404, problem("route_not_found", 404, f"there is nothing at {request.path}")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(request) if callable(answer) else answer


@contextmanager
def serve() -> Iterator[FakeApi]:
    api = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_call(self) -> None:
            parts = urlsplit(self.path)
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = Request(
                self.command,
                parts.path,
                parse_qs(parts.query),
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(content) if content else None,
            )
            status, body = api.respond(request)
            payload = body if isinstance(body, bytes) else _text(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_DELETE = handle_call  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


def problem(code: str, status: int, detail: str, **more: Any) -> dict[str, Any]:
    return {
        "type": f"urn:corral:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "code": code,
        "detail": detail,
        **more,
    }


def task(status: str = "queued", **changes: Any) -> dict[str, Any]:
    """A task as the API shows it."""
    is_terminal = status in {"done", "failed", "cancelled"}
    return {
        "task_id": TASK_ID,
        "kind": "flow",
        "name": "Log in",
        "status": status,
        "is_cancelling": False,
        "cancel_requested_at": None,
        "cancel_reason": None,
        "priority": 0,
        "labels": {},
        "batch_id": None,
        "created_at": "2026-01-01T10:00:00Z",
        "created_by": "key:test",
        "started_at": None,
        "finished_at": "2026-01-01T10:00:12Z" if is_terminal else None,
        "attempt": 0,
        "max_attempts": 2,
        "host_id": None,
        "device_id": None,
        "progress": None,
        "failure_reason": None,
        "requires": [],
        "timeout_seconds": None,
        "queue_timeout_seconds": None,
        "flow": None,
        "files": {},
        "result": None,
        "waiting_reason": None,
        "cancellation": None,
    } | changes


def receipt(outcome: str = "cancelled", **changes: Any) -> dict[str, Any]:
    return {
        "requested_at": "2026-01-01T10:00:10Z",
        "requested_by": "key:test",
        "finished_at": None if outcome == "pending" else "2026-01-01T10:00:12Z",
        "outcome": outcome,
    } | changes


def cancellation(status: str, outcome: str) -> dict[str, Any]:
    """The answer to a cancel."""
    return {
        "task_id": TASK_ID,
        "status": status,
        "cancel_requested_at": None,
        "cancellation": receipt(outcome),
    }


def event(event_id: int, kind: str, **details: Any) -> dict[str, Any]:
    at = f"2026-01-01T10:00:{event_id:02}Z"
    return {"event_id": event_id, "at": at, "kind": kind, "attempt": 1, "actor": "scheduler", "details": details}


def artifact(name: str = "failure.png", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "attempt": 1,
        "media_type": "image/png",
        "size_bytes": 20_480,
        "sha256": "00" * 32,
        "created_at": "2026-01-01T10:00:11Z",
        "is_late": False,
    } | changes


def host(name: str = "desk", **changes: Any) -> dict[str, Any]:
    return {
        "host_id": HOST_ID,
        "name": name,
        "is_online": True,
        "is_draining": False,
        "last_seen_at": "2026-01-01T10:00:00Z",
        "registered_at": "2026-01-01T09:00:00Z",
        "labels": {"room": "lab"},
        "version": "0.1.0",
        "devices": 2,
        "running": 1,
    } | changes


def device(**changes: Any) -> dict[str, Any]:
    return {
        "device_id": DEVICE_ID,
        "host_id": HOST_ID,
        "host_name": "desk",
        "serial": "PHONE1",
        "state": "ready",
        "remedy": None,
        "is_online": True,
        "task_id": None,
        "model": "Pixel",
        "manufacturer": "Google",
        "android_version": "15",
        "battery_level": 80,
        "labels": {},
        "facts": {},
        "last_seen_at": "2026-01-01T10:00:00Z",
    } | changes
