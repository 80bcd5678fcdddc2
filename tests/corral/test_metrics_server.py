import socket
from collections.abc import Generator

import httpx
import pytest

from corral.metrics_server import serve_metrics

IS = {"alive": True}


@pytest.fixture(scope="module")
def client() -> Generator[httpx.Client]:
    server = serve_metrics(0, "127.0.0.1", is_alive=lambda: IS["alive"])
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        yield client
    server.close()
    with socket.create_server(("127.0.0.1", server.port)):
        "the port is free again"


def test_it_answers_metrics_in_the_format_of_prometheus(client: httpx.Client) -> None:
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "python_info" in answer.text


def test_it_says_whether_the_process_lives(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/healthz").status_code == 200
    monkeypatch.setitem(IS, "alive", False)
    assert client.get("/healthz").status_code == 503


def test_it_answers_nothing_else(client: httpx.Client) -> None:
    assert client.get("/").status_code == 404
    assert client.post("/metrics").status_code == 405
