"""One connection to the host's own adb server, in which every send and receive counts against one deadline.

adbutils counts its timeout anew for each receive, sleeps in `close`, gives short reads without a word, and on a refused
connection starts a server on the default port, which belongs to somebody else. So the framing is adbutils' own, and
these four are replaced.
"""

import socket
from types import TracebackType
from typing import Self

from adbutils import AdbConnection  # pyright: ignore[reportMissingTypeStubs] - it is typed, but does not declare it
from adbutils.errors import AdbError  # pyright: ignore[reportMissingTypeStubs] - as above

from workers.device.deadline import Deadline

#: What a call can raise when the way to the phone fails. ValueError: a length that is no number.
TROUBLE = (AdbError, EOFError, OSError, ValueError)

#: The length of a request is four hexadecimal digits.
MAX_REQUEST_BYTES = 0xFFFF

_CHUNK_BYTES = 256 * 1024


class Connection(AdbConnection):
    def __init__(self, port: int, deadline: Deadline) -> None:
        self._port = port
        self._deadline = deadline
        super().__init__("127.0.0.1", port)

    def _safe_connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=self._deadline.remaining_seconds())

    def send_command(self, cmd: str) -> None:
        request = cmd.encode()
        if len(request) > MAX_REQUEST_BYTES:
            raise AdbError(f"a request of {len(request)} bytes is too long; {MAX_REQUEST_BYTES} are allowed")
        self.conn.settimeout(self._deadline.remaining_seconds())
        self.conn.sendall(b"%04x" % len(request) + request)

    def read(self, n: int) -> bytes:
        """Exactly `n` bytes.

        Raises:
            TimeoutError: the deadline came first.
            EOFError: the other side closed first.
        """
        received = bytearray()
        while len(received) < n:
            self.conn.settimeout(self._deadline.remaining_seconds())
            try:
                chunk = self.conn.recv(min(n - len(received), _CHUNK_BYTES))
            except TimeoutError as timeout:
                raise TimeoutError(f"no answer within {self._deadline.seconds:g} s") from timeout
            if not chunk:
                raise EOFError("the connection was closed in the middle of an answer")
            received += chunk
        return bytes(received)

    def close(self) -> None:
        self.conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def ask_server(port: int, request: str, *, deadline_seconds: float) -> str:
    """The adb server's answer to a request about itself, such as `host:version`.

    Raises:
        AdbError, EOFError, OSError, ValueError: as in `TROUBLE`.
    """
    with Connection(port, Deadline(deadline_seconds)) as connection:
        connection.send_command(request)
        connection.check_okay()
        return connection.read_string_block()


def open_transport(port: int, transport_serial: str, deadline: Deadline) -> Connection:
    """A connection that leads to the device: the next request on it is the device's.

    Raises:
        AdbError, EOFError, OSError, ValueError: as in `TROUBLE`; nothing has reached the device.
    """
    connection = Connection(port, deadline)
    try:
        connection.send_command(f"host:tport:serial:{transport_serial}")
        connection.check_okay()
        connection.read(8)  # the number of the transport, which nobody needs
    except BaseException:
        connection.close()
        raise
    return connection
