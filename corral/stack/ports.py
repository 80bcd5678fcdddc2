"""Free ports on loopback."""

import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LAST_PORT = 65_535


def free_port() -> int:
    """A port that nobody listens on now. Somebody may take it before you do: be ready to ask again."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of loopback now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def usual_port(last: int | None, *, count: int = 1) -> int:
    """The first of `count` ports in a row: those of the last time where they are free, others where not."""
    first = last or free_port()
    while not all(is_free(first + offset) for offset in range(count)):
        first = min(free_port(), _LAST_PORT - count)
    return first


def kept_port(file: Path) -> int:
    """The port that the file names from the last time, or another where that is taken; written back to it."""
    port = usual_port(int(file.read_text()) if file.exists() else None)
    file.write_text(str(port))
    return port
