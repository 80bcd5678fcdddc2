"""The two renewals as a plain ASGI application in front of FastAPI, whose routing and models cost four times as much.

Only what is as it should be is answered here: a canonical address, a JSON body of known length that decodes, the
credential of a host. Everything else goes on to the same calls behind FastAPI, which
answer the same and say what is wrong.
"""

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias

import anyio
import msgspec

from control.renewals.bodies import (
    LEASE_ID,
    HeldLease,
    LeaseRenewal,
    read_host_renewal,
    read_lease_renewal,
    write_answer,
)
from control.renewals.callers import Callers
from control.renewals.renewals import CallerGone, Renewals
from control.store.leases import Renewal

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: All leases of a large host with long progress; what is larger is in no hurry.
MAX_BODY_BYTES = 256 * 1024

_ADDRESS = re.compile(rf"/internal/v1/(?:leases/({LEASE_ID})|hosts/({LEASE_ID}))/renew")
_SANE_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/=+-]{1,128}")
#: No more than needed, for each is written to every answer: no browser comes here, and no cache keeps a POST.
_HEADERS = [(b"content-type", b"application/json")]


class _Headers(NamedTuple):
    """What a request that may be answered here says of itself."""

    token: str
    request_id: bytes | None


class RenewalRoutes:
    """Answers renewals, and passes everything else on.

    Args:
        application: what answers everything else.
        callers: whose credential a request has.
        answer_failure: answers a request whose renewal raised something.
    """

    def __init__(
        self,
        application: Application,
        *,
        renewals: Renewals,
        callers: Callers,
        answer_failure: Callable[[Exception, Scope, Receive, Send], Awaitable[None]],
    ) -> None:
        self._application = application
        self._renewals = renewals
        self._callers = callers
        self._answer_failure = answer_failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_renewal = scope["type"] == "http" and scope["method"] == "POST" and scope["path"].endswith("/renew")
        address = _ADDRESS.fullmatch(scope["path"]) if is_renewal else None
        headers = _headers(scope) if address else None
        if address is None or headers is None:
            await self._application(scope, receive, send)
            return
        received_at = time.monotonic()
        try:
            body = await _body(receive)
            caller = self._callers.known(headers.token) or await self._callers.verify(headers.token)
            lease_id, host_id = address.groups()
            if caller is None or host_id not in {None, str(caller)}:
                answer = None
            elif lease_id is not None:
                answer = await self._renew_one(lease_id, str(caller), body)
            else:
                answer = await self._renew_host(str(caller), body, received_at, receive)
        except CallerGone:
            return
        except Exception as error:  # noqa: BLE001 - one place decides what every kind of failure is answered with
            await self._answer_failure(error, scope, receive, send)
            return
        if answer is None:
            await self._application(scope, _replayed(body, receive), send)
        else:
            await _send(send, write_answer(answer), headers.request_id)

    async def _renew_one(self, lease_id: str, host_id: str, body: bytes) -> msgspec.Struct | None:
        said = _decoded(read_lease_renewal, body or b"{}")
        if said is None:
            return None
        renewal = _renewal(lease_id, host_id, said)
        return self._renewals.vouched(renewal) or await self._renewals.renew_one(renewal)

    async def _renew_host(
        self, host_id: str, body: bytes, received_at: float, receive: Receive
    ) -> msgspec.Struct | None:
        said = _decoded(read_host_renewal, body)
        if said is None:
            return None
        return await self._renewals.renew_host(
            host_id,
            [_renewal(held.lease_id, host_id, held) for held in said.leases],
            wait_seconds=said.wait_ms / 1000,
            received_at=received_at,
            is_gone=lambda: _is_gone(receive),
        )


def _headers(scope: Scope) -> _Headers | None:
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
    return _Headers(token, request_id) if token and is_json and has_length else None


def _decoded(read: Callable[[bytes], Any], body: bytes) -> Any | None:
    # An escape may stand for what Postgres cannot hold; FastAPI's side looks closer.
    if b"\\u" in body:
        return None
    try:
        return read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _renewal(lease_id: str, host_id: str, said: LeaseRenewal | HeldLease) -> Renewal:
    progress = write_answer(said.progress).decode() if said.progress is not None else None
    return Renewal(lease_id, host_id, progress, said.cancel_seen)


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise CallerGone
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The request as it came, for the one who reads it next."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again


async def _is_gone(receive: Receive) -> bool:
    """Whether the caller has hung up: after the body, the only message there can be."""
    message: Message = {}
    with anyio.CancelScope() as scope:
        scope.cancel()
        message = await receive()
    return message.get("type") == "http.disconnect"


async def _send(send: Send, body: bytes, request_id: bytes | None) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(body))]
    if request_id is not None:
        headers.append((b"x-request-id", request_id))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
