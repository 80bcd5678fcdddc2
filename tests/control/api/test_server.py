"""The server that `corral api` runs, as a process of its own and over raw sockets."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from control.app.settings import Settings
from control.operations.cadence import API, overdue_jobs
from control.operations.plane import Plane
from corral.contract.identifiers import uuid7
from corral.stack.ports import free_port
from tests.control.api.calls import JOIN_TOKEN, CallingHost, raw_claim, raw_heartbeat, until

LIMIT_SECONDS = 30.0


@pytest.fixture
def process(settings: Settings, plane: Plane) -> Iterator["subprocess.Popen[bytes]"]:
    code = "from corral.cli.parts import api; api()"
    environment = {
        **os.environ,
        "CORRAL_DATABASE_URL": settings.database_url.get_secret_value(),
        "CORRAL_REDIS_URL": settings.redis_url.get_secret_value(),
        "CORRAL_ARTIFACTS_DIR": str(settings.artifacts_dir),
        "CORRAL_JOIN_TOKEN": JOIN_TOKEN,
        "CORRAL_LOG_FORMAT": "json",
        "CORRAL_LOG_LEVEL": "debug",
        "CORRAL_PORT": str(free_port()),
    }
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE) as running:
        running.port = int(environment["CORRAL_PORT"])  # type: ignore[attr-defined]
        yield running
        running.kill()


def answers(api: httpx.Client) -> bool:
    try:
        return api.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_a_sigterm_answers_held_claims_and_ends_in_order(process: "subprocess.Popen[bytes]"):
    address = ("127.0.0.1", process.port)  # type: ignore[attr-defined]
    with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", timeout=LIMIT_SECONDS) as api:
        until(lambda: answers(api))
        host = CallingHost.enrol(api)
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as held:
        held.sendall(raw_claim(host))
        # One request after the other on a second connection: the claim before it has been taken in.
        with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", timeout=LIMIT_SECONDS) as api:
            assert api.get("/healthz").status_code == 200
        process.send_signal(signal.SIGTERM)
        answer = held.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"assignment":null' in answer
    _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, errors.decode()
    lines = errors.decode().splitlines()
    (claim,) = (line for line in lines if '"event": "request"' in line and "/claim" in line)
    assert re.search(r'"actor": "host:[0-9a-f-]{36}"', claim)
    assert '"route": "/internal/v1/hosts/{host_id}/claim"' in claim
    assert not any("Traceback" in line for line in lines)


def test_a_dead_life_whose_heartbeat_waited_for_a_frozen_api_takes_no_place(process: "subprocess.Popen[bytes]"):
    address = ("127.0.0.1", process.port)  # type: ignore[attr-defined]
    with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", timeout=LIMIT_SECONDS) as api:
        until(lambda: answers(api))
        host = CallingHost.enrol(api)
        process.send_signal(signal.SIGSTOP)
        for _ in range(8):
            with socket.create_connection(address, timeout=LIMIT_SECONDS) as dead:
                dead.sendall(raw_heartbeat(replace(host, incarnation=uuid7())))
        process.send_signal(signal.SIGCONT)
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
