"""HTTP/1.1 as bytes: requests made beforehand, and a client that waits for each of its answers."""

import json
import socket
from types import TracebackType
from typing import Any, Self

from corral.stack.ports import LOOPBACK

#: More than most replies have. Python makes room for all of it each time, and much room is a call to the system.
RECEIVE_BYTES = 1 << 14


def post(path: str, body: Any, *, token: str) -> bytes:
    """A whole request; `body` as JSON, or as text that is JSON already."""
    content = body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def get(path: str, *, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\r\n".encode()


def connected(port: int) -> socket.socket:
    """A connection that sends at once."""
    connection = socket.create_connection((LOOPBACK, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def is_whole(reply: bytes) -> bool:
    """Whether all of a reply is there: its head, and as many bytes after it as the head announces."""
    head_ends = reply.find(b"\r\n\r\n")
    if head_ends < 0:
        return False
    length_at = reply.find(b"content-length: ", 0, head_ends) + 16
    return len(reply) >= head_ends + 4 + int(reply[length_at : reply.find(b"\r", length_at)])


class Refused(Exception):
    """The server answered with a problem; the message shows it."""


class Client:
    """One connection, one request after the other."""

    def __init__(self, port: int) -> None:
        self._connection = connected(port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def ask(self, request: bytes) -> dict[str, Any]:
        """What the answer says. Raises `Refused`."""
        return json.loads(self.read(request))

    def read(self, request: bytes) -> bytes:
        """The body of the answer.

        Raises:
            Refused: it is an error.
        """
        self._connection.sendall(request)
        reply = b""
        while not is_whole(reply):
            more = self._connection.recv(RECEIVE_BYTES)
            if not more:
                raise Refused("the server closed the connection")
            reply += more
        head, _, body = reply.partition(b"\r\n\r\n")
        if head[9:10] != b"2":
            raise Refused(reply.decode(errors="replace"))
        return body
