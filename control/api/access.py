"""Who calls, and whether they may: API keys with scopes for `/v1`, credentials bound to one host for `/internal/v1`."""

import asyncio
import hmac
from typing import Annotated, Any
from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from starlette.requests import Request

from control.api.edge import TheEdge
from control.domain.errors import Forbidden, Unauthenticated
from control.operations.keys import Principal, verify_host, verify_key
from corral.contract.fleet import Scope

_API_KEY = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="corral_<id>_<secret>",
    description="An API key. The scopes of each call are listed with it.",
    auto_error=False,
)
_HOST_CREDENTIAL = HTTPBearer(
    scheme_name="HostCredential",
    description="What a host got when it registered; good for that host alone.",
    auto_error=False,
)
_JOIN_TOKEN = HTTPBearer(
    scheme_name="JoinToken", description="The token with which hosts enrol: CORRAL_JOIN_TOKEN.", auto_error=False
)

_Bearer = HTTPAuthorizationCredentials | None


async def _key_holder(
    request: Request, edge: TheEdge, needed: SecurityScopes, bearer: Annotated[_Bearer, Depends(_API_KEY)]
) -> Principal:
    token = _token(bearer, wanted="an API key")
    principal = edge.keys.known(token) or await run_sync(verify_key, edge.plane, edge.keys, token)
    request.state.actor = principal.actor
    if missing := [scope for scope in needed.scopes if Scope(scope) not in principal.scopes]:
        raise Forbidden(f"this key lacks the scope '{missing[0]}'", scope=missing[0])
    return principal


def with_scope(scope: Scope) -> Any:
    """The dependency that answers with the principal, once their key is known and has the scope."""
    return Security(_key_holder, scopes=[scope.value])


async def _calling_host(request: Request, edge: TheEdge, bearer: Annotated[_Bearer, Depends(_HOST_CREDENTIAL)]) -> UUID:
    token = _token(bearer, wanted="the credential of a host")
    host_id = edge.hosts.known(token) or await run_sync(verify_host, edge.plane, edge.hosts, token)
    # One turn of the loop: where the caller has gone, its socket's end is read now, and whoever asks for it is told.
    await asyncio.sleep(0)
    request.state.actor = f"host:{host_id}"
    return host_id


CallingHost = Annotated[UUID, Depends(_calling_host)]


async def _named_host(host_id: UUID, caller: CallingHost) -> UUID:
    if host_id != caller:
        raise Forbidden("this credential belongs to another host than the one in the address")
    return host_id


#: The host in the address, which is the one that calls.
NamedHost = Annotated[UUID, Depends(_named_host)]


async def _joining(edge: TheEdge, bearer: Annotated[_Bearer, Depends(_JOIN_TOKEN)]) -> None:
    token = _token(bearer, wanted="the join token")
    if edge.join_token is None:
        raise Unauthenticated("no host can join: CORRAL_JOIN_TOKEN is not set on the control plane")
    if not hmac.compare_digest(token.encode(), edge.join_token.encode()):
        raise Unauthenticated("this is not the join token of this control plane")


Joining = Depends(_joining)


def _token(bearer: _Bearer, *, wanted: str) -> str:
    if bearer is None or not bearer.credentials:
        raise Unauthenticated(f"send {wanted} as `Authorization: Bearer …`")
    return bearer.credentials
