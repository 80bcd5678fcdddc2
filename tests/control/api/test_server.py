"""The server that `corral api` runs, as a process of its own and over raw sockets."""

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from control.app.settings import Settings
from control.operations.cadence import API, overdue_jobs
from control.operations.plane import Plane
from corral.contract.identifiers import uuid7
from corral.stack.ports import free_port
from tests.control.api.calls import JOIN_TOKEN, CallingHost, raw_claim, raw_heartbeat, until
from tests.forked import ForkedProcess, run_corral

LIMIT_SECONDS = 30.0


@dataclass(frozen=True)
class Served:
    """An API that is ready, as a process of its own."""

    process: ForkedProcess
    address: tuple[str, int]
    log: Path

    def client(self) -> httpx.Client:
        host, port = self.address
        return httpx.Client(base_url=f"http://{host}:{port}", timeout=LIMIT_SECONDS)


@pytest.fixture
def served(settings: Settings, plane: Plane, tmp_path: Path) -> Iterator[Served]:
    port, log = free_port(), tmp_path / "log"
    environment = {
        **os.environ,
        "CORRAL_DATABASE_URL": settings.database_url.get_secret_value(),
        "CORRAL_REDIS_URL": settings.redis_url.get_secret_value(),
        "CORRAL_ARTIFACTS_DIR": str(settings.artifacts_dir),
        "CORRAL_JOIN_TOKEN": JOIN_TOKEN,
        "CORRAL_LOG_FORMAT": "json",
        "CORRAL_LOG_LEVEL": "debug",
        "CORRAL_PORT": str(port),
    }
    served = Served(ForkedProcess(run_corral, "api", env=environment, log=log), ("127.0.0.1", port), log)
    with served.client() as api:
        until(lambda: answers(api))
    yield served
    served.process.kill()
    served.process.wait(LIMIT_SECONDS)


def answers(api: httpx.Client) -> bool:
    try:
        return api.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_a_sigterm_answers_held_claims_and_ends_in_order(served: Served):
    with served.client() as api:
        host = CallingHost.enrol(api)
    with socket.create_connection(served.address, timeout=LIMIT_SECONDS) as held:
        held.sendall(raw_claim(host))
        # One request after the other on a second connection: the claim before it has been taken in.
        with served.client() as api:
            assert api.get("/healthz").status_code == 200
        served.process.send_signal(signal.SIGTERM)
        answer = held.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"assignment":null' in answer
    assert served.process.wait(LIMIT_SECONDS) == 0, served.log.read_text()
    lines = served.log.read_text().splitlines()
    (claim,) = (line for line in lines if '"event": "request"' in line and "/claim" in line)
    assert re.search(r'"actor": "host:[0-9a-f-]{36}"', claim)
    assert '"route": "/internal/v1/hosts/{host_id}/claim"' in claim
    assert not any("Traceback" in line for line in lines)


def test_a_dead_life_whose_heartbeat_waited_for_a_frozen_api_takes_no_place(served: Served):
    with served.client() as api:
        host = CallingHost.enrol(api)
        served.process.send_signal(signal.SIGSTOP)
        for _ in range(8):
            with socket.create_connection(served.address, timeout=LIMIT_SECONDS) as dead:
                dead.sendall(raw_heartbeat(replace(host, incarnation=uuid7())))
        served.process.send_signal(signal.SIGCONT)
        assert [host.beat().status_code for _ in range(5)] == [200] * 5


def test_a_streamed_body_is_refused_once_it_is_too_large(api: httpx.Client, user: dict[str, str]):
    address = (api.base_url.host, api.base_url.port)
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as client:
        client.sendall(
            b"POST /v1/tasks HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\n"
            b"Authorization: " + user["Authorization"].encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        sending = threading.Thread(target=_send_chunks, args=(client,))
        sending.start()
        answer = client.makefile("rb").read()
        sending.join(LIMIT_SECONDS)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"body_too_large" in answer
    assert b"connection: close" in answer.lower()


def test_a_connection_serves_one_request_after_the_other(api: httpx.Client, user: dict[str, str]):
    address = (api.base_url.host, api.base_url.port)
    request = b"GET /v1/tasks HTTP/1.1\r\nHost: api\r\nAuthorization: " + user["Authorization"].encode() + b"\r\n\r\n"
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as client:
        for _ in range(3):
            client.sendall(request)
            assert _read_answer(client).startswith(b"HTTP/1.1 200")


def _send_chunks(client: socket.socket) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    try:
        for _ in range(40):
            client.sendall(chunk)
        client.sendall(b"0\r\n\r\n")
    except OSError:
        pass  # the server has closed the connection, as it said


def _read_answer(client: socket.socket) -> bytes:
    stream = client.makefile("rb")
    head = b"".join(iter(stream.readline, b"\r\n"))
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    assert length
    return head + stream.read(int(length[1]))


def test_an_api_that_serves_shows_that_it_lives(api: httpx.Client, plane: Plane):
    until(lambda: overdue_jobs(plane, {API: plane.timing.lease_seconds / 3}) == [])
