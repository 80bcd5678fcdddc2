"""The health check of containers, as a process against a real socket."""

import socket
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ""),
        (b"HTTP/1.1 503 No\r\nContent-Length: 13\r\n\r\nmigrate first", "503: migrate first"),
        (b"SSH-2.0-x\r\n", "BadStatusLine"),
        (b"", "RemoteDisconnected"),
    ],
)
def test_an_answer_of_200_and_nothing_else_is_health(answer: bytes, said: str):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/readyz"
        with probe(address) as process:
            connection, _ = server.accept()
            assert connection.recv(1000).startswith(b"GET /readyz ")
            connection.sendall(answer)
            connection.close()
            printed, _ = process.communicate(timeout=20)
    assert process.returncode == (1 if said else 0)
    assert printed.startswith(f"{address}: {said}" if said else "")


def test_a_port_that_accepts_is_health():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with probe(address) as process:
            assert process.communicate(timeout=20) == ("", None)
        assert process.returncode == 0
    with probe(address) as process:
        assert process.communicate(timeout=20)[0].startswith(f"{address}: ConnectionRefusedError")
    assert process.returncode == 1


def probe(address: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "corral.probe", address], stdout=subprocess.PIPE, text=True)
