"""The two renewals as a plain ASGI application in front of FastAPI, whose routing and models cost four times as much.

Only what is as it should be is answered here: a canonical address, a JSON body of known length that decodes, the
credential of a host. Everything else goes on to the same calls behind FastAPI, which answer the same and say what is
wrong.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

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
from control.renewals.exchange import (
    Application,
    CallerGone,
    Receive,
    Scope,
    Send,
    is_gone,
    read_body,
    read_headers,
    replayed,
    send_json,
)
from control.renewals.renewals import Renewals
from control.store.leases import Renewal

_ADDRESS = re.compile(rf"/internal/v1/(?:leases/({LEASE_ID})|hosts/({LEASE_ID}))/renew")


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
        headers = read_headers(scope) if address else None
        if address is None or headers is None:
            await self._application(scope, receive, send)
            return
        received_at = time.monotonic()
        try:
            body = await read_body(receive)
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
            await self._application(scope, replayed(body, receive), send)
        else:
            await send_json(send, write_answer(answer), headers.request_id)

    async def _renew_one(self, lease_id: str, host_id: str, body: bytes) -> msgspec.Struct | None:
        said = _decoded(read_lease_renewal, body or b"{}")
        if said is None:
            return None
        return await self._renewals.renew_one(_renewal(lease_id, host_id, said))

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
            is_gone=lambda: is_gone(receive),
        )


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
