"""Free ports on loopback."""

import socket

LOOPBACK = "127.0.0.1"


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


_LAST_PORT = 65_535
