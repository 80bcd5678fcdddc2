"""Flower's pages over Corral's broker: what `corral flower` starts.

Flower lives on events alone, so all it shows was sent by the bridge and by the workers of jobs while it listened; what
was there before, the bridge tells again whenever a Flower connects.
"""

import asyncio
import logging
import os
import signal
from http import HTTPStatus
from typing import Any

import structlog
from flower.app import Flower  # pyright: ignore[reportMissingTypeStubs] - Flower has no types
from flower.options import default_options  # pyright: ignore[reportMissingTypeStubs] - as above
from flower.urls import settings as default_settings  # pyright: ignore[reportMissingTypeStubs] - as above
from tornado.httputil import HTTPHeaders
from tornado.ioloop import IOLoop
from tornado.web import OutputTransform

from control.flower.captured_events import CapturedEvents
from control.flower.settings import FlowerSettings
from control.jobs.celery_app import celery_app

log: structlog.stdlib.BoundLogger = structlog.get_logger()
flower_options: Any = default_options
flower_settings: dict[str, Any] = default_settings

#: Requests in a web page wait for these; a broker that is away should be told as an error while somebody still looks.
SOCKET_LIMIT_SECONDS = 5.0
CONNECT_RETRIES = 1
#: All answers to an inspect are waited for as long: the bridge and the workers of jobs need a few hundredths of it.
INSPECT_LIMIT_SECONDS = 1.0
#: What has been offline this long is no longer listed.
FORGET_WORKERS_SECONDS = 24 * 3600
COLUMNS = "name,uuid,state,received,runtime,worker,kwargs"


class CannotListen(Exception):
    """Give another address or port, or end what listens there."""


class LogInForTheApi(OutputTransform):
    """Has browsers send name and password to the HTTP API too, which buttons call and which refuses without asking.

    They send them unasked only below the path where they had to log in: buttons of a page that was opened by its own
    address, such as that of a task, would fail without a word.
    """

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002, FBT001 - Tornado's signature
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Ask for them, in the words of Flower's pages."""
        if status_code == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Basic realm="flower"'
        return status_code, headers, chunk


def run_flower(settings: FlowerSettings) -> int:
    """Serve until SIGTERM or Ctrl-C; answers the exit code.

    Call it in the main thread, with logging configured. One process can do it once: Flower's options are its own.

    Raises:
        CannotListen: the address cannot be listened on.
    """
    _quieten()
    # It would open the HTTP API to every page in a browser, whatever is set here.
    os.environ.pop("FLOWER_UNAUTHENTICATED_API", None)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    flower = _flower(settings, IOLoop.current())
    address = _listen(flower, settings)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, flower.stop)
    log.info("flower.listening", address=address, is_read_only=not settings.credentials)
    flower.start()
    log.info("flower.stopped")
    return 0


def _flower(settings: FlowerSettings, loop: IOLoop) -> Any:
    prefix = settings.url_prefix
    options = {
        "address": settings.address,
        "port": settings.port,
        "basic_auth": settings.credentials,
        # Without users, any page in the browser of whoever runs it could press the buttons.
        "read_only": not settings.credentials,
        "url_prefix": f"/{prefix}" if prefix else "",
        "max_tasks": settings.max_tasks,
        "persistent": False,
        "inspect_timeout": INSPECT_LIMIT_SECONDS * 1000,
        "purge_offline_workers": FORGET_WORKERS_SECONDS,
        "tasks_columns": COLUMNS,
    }
    for name, value in options.items():
        setattr(flower_options, name, value)
    if prefix:
        for name in ("login_url", "static_url_prefix"):
            flower_settings[name] = f"/{prefix}{flower_settings[name]}"
    app = celery_app(
        settings.redis_url.get_secret_value(),
        socket_limit_seconds=SOCKET_LIMIT_SECONDS,
        connect_limit_seconds=SOCKET_LIMIT_SECONDS,
        connect_retries=CONNECT_RETRIES,
    )
    events = CapturedEvents(
        app, loop, max_tasks_in_memory=settings.max_tasks, max_workers_in_memory=flower_options.max_workers
    )
    # Without users the HTTP API is closed, and a browser should not ask for a password that nobody has.
    transforms = [LogInForTheApi] if settings.credentials else []
    return Flower(
        capp=app, options=flower_options, events=events, io_loop=loop, transforms=transforms, **flower_settings
    )


def _listen(flower: Any, settings: FlowerSettings) -> str:
    try:
        port = flower.start_http_server()
    except OSError as trouble:
        raise CannotListen(
            f"Flower cannot listen on {settings.address}, port {settings.port}: {trouble.strerror or trouble}; "
            "give another CORRAL_FLOWER_ADDRESS or CORRAL_FLOWER_PORT, where 0 picks a free port"
        ) from trouble
    host = f"[{settings.address}]" if ":" in settings.address else settings.address
    return f"http://{host}:{port}/" + (f"{settings.url_prefix}/" if settings.url_prefix else "")


def _quieten() -> None:
    """Lines about each page, each broadcast and each connection."""
    for name in ("tornado.access", "flower", "celery", "kombu", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # That nobody answered a question: so it is while the others still start.
    logging.getLogger("flower.inspector").setLevel(logging.ERROR)
