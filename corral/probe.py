"""`python -m corral.probe ADDRESS`: whether something answers there, for the health checks of containers.

The address is `http://127.0.0.1:7700/readyz`, which has to answer 200, or `tcp://127.0.0.1:5601`, which has to accept a
connection. Exit code 0 or 1; what was wrong is printed. An image has no curl, and this starts in a moment.
"""

import http.client
import socket
import sys
from urllib.parse import urlsplit

LIMIT_SECONDS = 4.0


def trouble_at(address: str) -> str | None:
    """What is wrong there, in words; None where all is well."""
    parts = urlsplit(address)
    host, port = parts.hostname or "127.0.0.1", parts.port
    try:
        if parts.scheme == "tcp":
            socket.create_connection((host, port or 0), timeout=LIMIT_SECONDS).close()
            return None
        connection = http.client.HTTPConnection(host, port, timeout=LIMIT_SECONDS)
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        words = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as trouble:
        return f"{type(trouble).__name__}: {trouble}"
    return None if answer.status == http.client.OK else f"{answer.status}: {words}"


if __name__ == "__main__":
    if trouble := trouble_at(sys.argv[1]):
        sys.stdout.write(f"{sys.argv[1]}: {trouble}\n")
        sys.exit(1)
