"""API keys."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter

from control.api.access import with_scope
from control.api.edge import ThePlane
from control.api.strict_route import StrictRoute
from control.domain.errors import Forbidden
from control.operations.keys import Principal, create_api_key
from corral.contract.fleet import ApiKeyCreated, ApiKeyRequest, Scope

router = APIRouter(route_class=StrictRoute, tags=["keys"])


@router.post("/v1/api-keys", status_code=HTTPStatus.CREATED, summary="Create an API key")
def create(
    plane: ThePlane, request: ApiKeyRequest, principal: Annotated[Principal, with_scope(Scope.KEYS_ADMIN)]
) -> ApiKeyCreated:
    """The key is shown this once. No key can give away a scope that it lacks itself."""
    if lacking := [scope for scope in request.scopes if scope not in principal.scopes]:
        raise Forbidden(f"this key cannot give the scope '{lacking[0]}', which it lacks itself", scope=lacking[0])
    return create_api_key(plane, name=request.name, scopes=request.scopes)
