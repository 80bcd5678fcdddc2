"""Who calls, and whether they may: API keys with scopes for `/v1`, credentials bound to one host for `/internal/v1`."""

import asyncio
import hmac
from typing import Annotated, Any
from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import Depends, Security
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.security import SecurityScopes
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from control.api.edge import Edge
from control.domain.errors import Forbidden, Unauthenticated
from control.operations.keys import Principal, verify_host, verify_key
from corral.contract.fleet import Scope


class _KeyHolder(SecurityBase):
    """The principal whose key is sent, once it is known and has the scopes that the route needs.

    Scheme and check are one dependency, as FastAPI's time for a request goes by their number.
    """

    scheme_name = "ApiKey"
    model = BearerScheme(
        bearerFormat="corral_<id>_<secret>",
        description="An API key. The scopes of each call are listed with it.",
    )

    async def __call__(self, request: Request, needed: SecurityScopes) -> Principal:
        edge: Edge = request.app.state.edge
        token = _token(request, wanted="an API key")
        principal = edge.keys.known(token) or await run_sync(verify_key, edge.plane, edge.keys, token)
        request.state.actor = principal.actor
        if missing := [scope for scope in needed.scopes if Scope(scope) not in principal.scopes]:
            raise Forbidden(f"this key lacks the scope '{missing[0]}'", scope=missing[0])
        return principal


class _CallingHost(SecurityBase):
    """The host whose credential is sent."""

    scheme_name = "HostCredential"
    model = BearerScheme(description="What a host got when it registered; good for that host alone.")

    async def __call__(self, request: Request) -> UUID:
        edge: Edge = request.app.state.edge
        token = _token(request, wanted="the credential of a host")
        host_id = edge.hosts.known(token) or await run_sync(verify_host, edge.plane, edge.hosts, token)
        # One turn of the loop: where the caller has gone, its socket's end is read now, and whoever asks is told.
        await asyncio.sleep(0)
        request.state.actor = f"host:{host_id}"
        return host_id


class _Joining(SecurityBase):
    """Whoever knows the join token."""

    scheme_name = "JoinToken"
    model = BearerScheme(description="The token with which hosts enrol: CORRAL_JOIN_TOKEN.")

    async def __call__(self, request: Request) -> None:
        edge: Edge = request.app.state.edge
        token = _token(request, wanted="the join token")
        if edge.join_token is None:
            raise Unauthenticated("no host can join: CORRAL_JOIN_TOKEN is not set on the control plane")
        if not hmac.compare_digest(token.encode(), edge.join_token.encode()):
            raise Unauthenticated("this is not the join token of this control plane")


_KEY_HOLDER = _KeyHolder()


def with_scope(scope: Scope) -> Any:
    """The dependency that answers with the principal, once their key is known and has the scope."""
    return Security(_KEY_HOLDER, scopes=[scope.value])


CallingHost = Annotated[UUID, Depends(_CallingHost())]
Joining = Depends(_Joining())


async def _named_host(host_id: UUID, caller: CallingHost) -> UUID:
    if host_id != caller:
        raise Forbidden("this credential belongs to another host than the one in the address")
    return host_id


#: The host in the address, which is the one that calls.
NamedHost = Annotated[UUID, Depends(_named_host)]


def _token(request: Request, *, wanted: str) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated(f"send {wanted} as `Authorization: Bearer …`")
    return token.strip()
