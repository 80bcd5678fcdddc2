"""API keys."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path

from control.api.access import with_scope
from control.api.edge import TheEdge, ThePlane
from control.api.strict_route import StrictRoute
from control.domain.errors import Forbidden
from control.operations.keys import Principal, create_api_key, id_of_key, list_api_keys, revoke_api_key
from corral.contract.fleet import ApiKeyCreated, ApiKeyList, ApiKeyRequest, ApiKeyView, Scope

router = APIRouter(route_class=StrictRoute, tags=["keys"])


@router.post("/v1/api-keys", status_code=HTTPStatus.CREATED, summary="Create an API key")
def create(
    plane: ThePlane, request: ApiKeyRequest, principal: Annotated[Principal, with_scope(Scope.KEYS_ADMIN)]
) -> ApiKeyCreated:
    """The key is shown this once. No key can give away a scope that it lacks itself."""
    if lacking := [scope for scope in request.scopes if scope not in principal.scopes]:
        raise Forbidden(f"this key cannot give the scope '{lacking[0]}', which it lacks itself", scope=lacking[0])
    return create_api_key(plane, name=request.name, scopes=request.scopes)


@router.get("/v1/api-keys", dependencies=[with_scope(Scope.KEYS_ADMIN)], summary="List API keys")
def index(plane: ThePlane) -> ApiKeyList:
    """All of them, the oldest first, also those that were revoked; never their secrets."""
    return list_api_keys(plane)


@router.delete("/v1/api-keys/{key_id}", dependencies=[with_scope(Scope.KEYS_ADMIN)], summary="Revoke an API key")
def revoke(
    edge: TheEdge,
    key_id: Annotated[str, Path(max_length=100, description="The part of the key between its underscores.")],
) -> ApiKeyView:
    """It is void at once and for good; revoking it again changes nothing. A key can revoke itself."""
    revoked = revoke_api_key(edge.plane, key_id)
    # Here without a detour: Redis may be away.
    edge.keys.drop(id_of_key(key_id))
    return revoked
