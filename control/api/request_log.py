"""Around every request: its id, its line in the log, and the last resort when something unforeseen was raised."""

import re
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from control.api.problems import problem_response, refusal_response
from control.domain.errors import Refusal
from control.metrics import HTTP_REQUEST_SECONDS
from control.renewals.exchange import SANE_REQUEST_ID
from corral.contract.identifiers import uuid7
from corral.contract.problems import ProblemCode

log: structlog.stdlib.BoundLogger = structlog.get_logger()

_SANE_REQUEST_ID = re.compile(SANE_REQUEST_ID)
#: Probes ask every few seconds; a line for each would bury the others.
_HOST_PROTOCOL = "/internal/"
_QUIET_PATHS = frozenset({"/healthz", "/metrics", "/readyz"})


class RequestLog:
    """Gives each request an id, answers what nobody else answered, and writes one line about it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        request_id = _request_id(scope)
        scope.setdefault("state", {}).update(request_id=request_id, received_at=started)
        answer = _Answer(send, request_id)
        try:
            with structlog.contextvars.bound_contextvars(request_id=request_id):
                await self._respond(scope, receive, answer)
        finally:
            elapsed_seconds = time.monotonic() - started
            _count(scope, answer.status, elapsed_seconds)
            _write_line(scope, answer.status, elapsed_seconds * 1000, request_id)

    async def _respond(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        try:
            await self._app(scope, receive, answer.send)
        except Refusal as refusal:
            if answer.status is not None:
                raise
            await refusal_response(refusal, request_id=answer.request_id)(scope, receive, answer.send)
        except Exception:
            log.exception("request.crashed", method=scope["method"], path=scope["path"])
            if answer.status is not None:
                raise  # the answer has begun: the server can only close the connection
            response = problem_response(
                ProblemCode.INTERNAL_ERROR,
                "This is a fault of Corral; its log has the details under this request id.",
                request_id=answer.request_id,
            )
            await response(scope, receive, answer.send)


class _Answer:
    """Sees the answer go out: remembers its status and adds the headers that all answers have."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _SANE_REQUEST_ID.fullmatch(given) else str(uuid7())


def show_failures(paths: Iterable[str]) -> None:
    """Show the failures of these routes as 0 before the first: what has no row yet cannot be seen to begin.

    Other answers come by themselves, and all of them would make the page ten times as long.
    """
    for path in paths:
        HTTP_REQUEST_SECONDS.labels(path, "5xx")


def _count(scope: Scope, status: int | None, elapsed_seconds: float) -> None:
    # Without an answer nobody can be told more than that it failed.
    status_class = f"{(status or 500) // 100}xx"
    HTTP_REQUEST_SECONDS.labels(_route(scope) or "unknown", status_class).observe(elapsed_seconds)


def _route(scope: Scope) -> str | None:
    return getattr(scope.get("route"), "path", None)


def _write_line(scope: Scope, status: int | None, elapsed_ms: float, request_id: str) -> None:
    if scope["path"] in _QUIET_PATHS:
        return
    state: dict[str, Any] = scope["state"]
    # Hosts call several times a second and are counted; a line for each would cost a sixth of answering them.
    is_routine = scope["path"].startswith(_HOST_PROTOCOL) and status is not None and status < HTTPStatus.BAD_REQUEST
    say = log.debug if is_routine else log.info
    say(
        "request",
        method=scope["method"],
        route=_route(scope),
        status=status,
        ms=round(elapsed_ms, 1),
        actor=state.get("actor"),
        request_id=request_id,
    )
