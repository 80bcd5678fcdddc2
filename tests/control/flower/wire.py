"""A wire to Redis that can be cut so that nobody notices: what was sent over it is gone, and nothing is closed."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class Wire:
    def __init__(self, url: str) -> None:
        self._target = (urlsplit(url).hostname, urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/{url.rpartition('/')[2]}"
        self._sockets: list[socket.socket] = []
        self._subscribed: set[socket.socket] = set()
        self._deaf: set[socket.socket] = set()

    def cut_subscriptions(self) -> None:
        """What is published reaches no subscriber of now any more."""
        self._deaf |= self._subscribed

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def close(self) -> None:
        for one in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := source.recv(65_536):
                if b"PSUBSCRIBE" in said:
                    self._subscribed.add(sink)
                if source not in self._deaf:
                    sink.sendall(said)
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def wire_to(url: str) -> Iterator[Wire]:
    wire = Wire(url)
    thread = threading.Thread(target=wire.run)
    thread.start()
    try:
        yield wire
    finally:
        wire.close()
        thread.join()
