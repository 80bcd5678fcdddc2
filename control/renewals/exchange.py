"""What renewals read of a request and write as its answer, in the words of ASGI."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias

import anyio

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: All leases of a large host with long progress; what is larger is in no hurry.
MAX_BODY_BYTES = 256 * 1024

#: What is echoed of the ids that callers give to their requests; others get one of ours.
SANE_REQUEST_ID = r"[A-Za-z0-9._:/=+-]{1,128}"

_SANE_REQUEST_ID = re.compile(SANE_REQUEST_ID.encode())
#: No more than needed, for each is written to every answer: no browser comes here, and no cache keeps a POST.
_HEADERS = [(b"content-type", b"application/json")]


class CallerGone(Exception):
    """Nobody waits for this answer any more; nothing was renewed for it."""


class Headers(NamedTuple):
    """What a request that may be answered here says of itself."""

    token: str
    request_id: bytes | None


def read_headers(scope: Scope) -> Headers | None:
    """None where the request is one for FastAPI."""
    token: str | None = None
    request_id: bytes | None = None
    is_json = has_length = False
    for name, value in scope["headers"]:
        if name == b"authorization":
            token = value[7:].decode("latin-1") if value[:7].lower() == b"bearer " else None
        elif name == b"content-type":
            is_json = value == b"application/json"
        elif name == b"content-length":
            has_length = value.isdigit() and len(value) < 10 and int(value) <= MAX_BODY_BYTES  # noqa: PLR2004
        elif name == b"x-request-id":
            if not _SANE_REQUEST_ID.fullmatch(value):
                return None
            request_id = value
    return Headers(token, request_id) if token and is_json and has_length else None


async def read_body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise CallerGone
    return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """The request as it came, for the one who reads it next."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again


async def is_gone(receive: Receive) -> bool:
    """Whether the caller has hung up: after the body, the only message there can be."""
    message: Message = {}
    with anyio.CancelScope() as scope:
        scope.cancel()
        message = await receive()
    return message.get("type") == "http.disconnect"


async def send_json(send: Send, body: bytes, request_id: bytes | None) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(body))]
    if request_id is not None:
        headers.append((b"x-request-id", request_id))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
