"""A listener in a thread over this test's Redis and Postgres, and a client that has nothing but Celery."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import Celery

from control.flower.listener import PidboxListener
from control.jobs.celery_app import celery_app
from control.operations.plane import Plane
from tests.control.redis_conditions import redis_url

__all__ = ["client", "eventually", "listen", "redis_url"]


def eventually(condition: Callable[[], object], *, within_seconds: float = 10.0) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_seconds} seconds"
        time.sleep(0.01)


@contextmanager
def listening(url: str, plane: Plane, **more: Any) -> Iterator[PidboxListener]:
    """A listener that hears, while the block runs."""
    app = celery_app(url, socket_limit_seconds=1.0, connect_limit_seconds=1.0)
    options: dict[str, Any] = {
        "is_leader": lambda: True,
        "name": "bridge@test",
        "keeps_unknown": False,
        "on_flower": lambda: None,
        **more,
    }
    listener, stop = PidboxListener(app, plane, **options), threading.Event()
    thread = threading.Thread(target=listener.run, args=(stop,))
    began_at = time.monotonic()
    thread.start()
    try:
        eventually(lambda: listener.heard_at > began_at)
        yield listener
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()
        app.close()


@pytest.fixture
def listen(redis_url: str, plane: Plane) -> Iterator[Callable[..., PidboxListener]]:
    """Starts listeners; they have ended when the test has."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(listening(redis_url, plane, **more))


@pytest.fixture
def client(redis_url: str) -> Iterator[Celery]:
    """Somebody else's application, on the same broker."""
    app = Celery("somebody", broker=redis_url, backend=redis_url, set_as_current=False)
    yield app
    app.close()
