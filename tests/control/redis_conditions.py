"""Redis in three conditions: well, silent, and absent."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator

import pytest
import redis

from corral.stack.ports import free_port
from corral.stack.valkey import EmbeddedValkey

_numbers = itertools.cycle(range(1, 16))


@pytest.fixture
def redis_url(valkey: EmbeddedValkey) -> str:
    """A database of this test's own."""
    url = f"{valkey.url.rpartition('/')[0]}/{next(_numbers)}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def silent_redis_url() -> Iterator[str]:
    """A server that accepts every connection and never answers: what a hanging Redis looks like from outside."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        accepted: list[socket.socket] = []
        thread = threading.Thread(target=_accept_all, args=(listener, accepted))
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in accepted:
            connection.close()


@pytest.fixture
def absent_redis_url() -> str:
    """An address where nobody listens."""
    return f"redis://127.0.0.1:{free_port()}/0"


def _accept_all(listener: socket.socket, accepted: list[socket.socket]) -> None:
    with contextlib.suppress(OSError):
        while True:
            accepted.append(listener.accept()[0])
