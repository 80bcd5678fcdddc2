"""`GET /metrics` and `GET /healthz` for the processes that serve nothing else: jobs, beat, bridge and host."""

import socket
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import REGISTRY, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, ThreadingWSGIServer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

log = structlog.get_logger()

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
#: Whoever asks and then says nothing more is not waited for: each request has a thread.
REQUEST_LIMIT_SECONDS = 10.0

# A time of creation for each row would double the page, and `process_start_time_seconds` says the same.
disable_created_metrics()


def exposition() -> bytes:
    """All metrics of this process in the Prometheus text format."""
    return generate_latest(REGISTRY)


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """Answers from a thread of its own until it is closed."""

    port: int
    server: WSGIServer
    thread: threading.Thread

    def close(self) -> None:
        """Stop answering. The process may also just end: the thread does not keep it."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def serve_metrics(port: int, address: str, *, is_alive: Callable[[], bool] = lambda: True) -> MetricsServer:
    """Answer for this process; port 0 picks a free one. Call it after the last fork.

    `is_alive` is what `/healthz` says, as 200 or 503.

    Raises:
        OSError: the address cannot be listened on.
    """
    family, *_, address_found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]

    class Server(ThreadingWSGIServer):
        address_family = family

    server = make_server(str(address_found[0]), port, _app(is_alive), Server, handler_class=_QuietHandler)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    log.info("metrics.served", address=address, port=server.server_port)
    return MetricsServer(server.server_port, server, thread)


@contextmanager
def metrics_served(
    port: int | None, address: str, *, is_alive: Callable[[], bool] = lambda: True
) -> Generator[MetricsServer | None]:
    """The same while the block runs, for an entry point; nothing without a port.

    A process whose metrics cannot be served works all the same, and says so in its log.
    """
    server = None if port is None else _served_if_possible(port, address, is_alive)
    try:
        yield server
    finally:
        if server is not None:
            server.close()


def _served_if_possible(port: int, address: str, is_alive: Callable[[], bool]) -> MetricsServer | None:
    try:
        return serve_metrics(port, address, is_alive=is_alive)
    except OSError as error:
        log.error("metrics.not_served", address=address, port=port, error=str(error))  # noqa: TRY400 - says it all
        return None


def _app(is_alive: Callable[[], bool]) -> "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]":
    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> list[bytes]:
        status, media_type, body = _answer(environ["REQUEST_METHOD"], environ["PATH_INFO"], is_alive)
        start_response(status, [("Content-Type", media_type), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def _answer(method: str, path: str, is_alive: Callable[[], bool]) -> tuple[str, str, bytes]:
    if method != "GET":
        return "405 Method Not Allowed", "text/plain", b"only GET is answered\n"
    if path == "/metrics":
        return "200 OK", CONTENT_TYPE, exposition()
    if path == "/healthz":
        if is_alive():
            return "200 OK", "application/json", b'{"status": "alive"}'
        return "503 Service Unavailable", "application/json", b'{"status": "stuck"}'
    return "404 Not Found", "text/plain", b"only /metrics and /healthz are answered\n"


class _QuietHandler(WSGIRequestHandler):
    timeout = REQUEST_LIMIT_SECONDS

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named so where it is inherited
        """A scrape is not worth a line."""
