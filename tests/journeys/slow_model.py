"""A model behind HTTP that acts once and then thinks aloud, a word at a time, until somebody hangs up."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from corral.stack.ports import LOOPBACK

NAME = "compatible:slow"
WORD_SECONDS = 0.05


class SlowModel:
    """`hung_up` is set once a client has closed the connection in mid-answer."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.words_sent = 0
        self.hung_up = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    model: SlowModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if any(message["role"] == "tool" for message in body["messages"]):
            self._think()
        else:
            call = {"index": 0, "id": "c1", "type": "function"}
            self._send({"tool_calls": [{**call, "function": {"name": "launch_app", "arguments": LAUNCH}}]})
            self._send({}, finish="tool_calls")
            self._write("[DONE]")

    def _think(self) -> None:
        try:
            while True:
                self._send({"content": "well, "})
                self.model.words_sent += 1
                time.sleep(WORD_SECONDS)
        except OSError:
            self.model.hung_up.set()

    def _send(self, delta: dict[str, Any], *, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
        self._write(json.dumps(chunk))

    def _write(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  the base class names it
        """Nothing: stderr is for the tests."""


LAUNCH = json.dumps({"package": "dev.corral.notes"})


@contextmanager
def slow_model() -> Iterator[SlowModel]:
    with ThreadingHTTPServer((LOOPBACK, 0), _Handler) as server:
        model = SlowModel(f"http://{LOOPBACK}:{server.server_port}/v1")
        _Handler.model = model
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
