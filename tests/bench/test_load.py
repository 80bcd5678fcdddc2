"""The load generator against a server that answers in pieces."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from corral.stack.ports import LOOPBACK
from tests.bench.loads import Once, Paced
from tests.bench.rounds import Sample, rate_row
from tests.bench.wire import post

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"is": "whole"}'


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server((LOOPBACK, 0)) as server:
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        yield server.getsockname()[1]


@pytest.fixture
def never() -> Iterator[int]:
    """A descriptor that never becomes readable."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


def test_every_request_is_sent_once_and_answers_that_come_in_pieces_are_put_together(port: int, never: int) -> None:
    result = Once(port, [post("/x", {"number": number}, token="t") for number in range(20)], connections=3).run(never)
    assert result.must_be_fine().operations == 20


def test_a_fixed_rate_is_not_exceeded(port: int, never: int) -> None:
    result = Paced(port, [post("/x", {}, token="t")], per_second=200, connections=4, seconds=0.1).run(never)
    assert 1 <= result.operations <= 21


def test_a_ratio_is_the_median_of_the_ratios_within_each_round() -> None:
    taken = {"slow": [Sample(1, 2.0), Sample(1, 20.0), Sample(1, 4.0)], "bare": [Sample(1, 1.0), Sample(1, 10.0)] * 2}
    taken["bare"] = taken["bare"][:3]
    assert rate_row("slow", taken, floor="bare").values["ratio"] == 0.5


def _serve(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(4096):
            connection.sendall(ANSWER[:20])
            connection.sendall(ANSWER[20:])
