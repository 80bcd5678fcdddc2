"""Runs the API's own server in a thread, on a port of its own."""

import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import httpx
from fastapi import FastAPI

from control.app.server import api_server
from control.app.settings import Settings

START_LIMIT_SECONDS = 10.0
#: uvicorn looks ten times a second whether it should end; that is most of what a test costs.
STOP_LIMIT_SECONDS = 15.0


@contextmanager
def served(app: FastAPI, settings: Settings) -> Generator[httpx.Client]:
    """A client of the application, which is served while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = api_server(app, settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            _wait_until(lambda: server.started or not thread.is_alive())
            host, port = listening.getsockname()
            with httpx.Client(base_url=f"http://{host}:{port}", timeout=30) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(STOP_LIMIT_SECONDS)
            assert not thread.is_alive()


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.005)
