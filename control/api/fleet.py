"""Hosts and devices as operators see them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Query

from control.api.access import with_scope
from control.api.edge import TheEdge, ThePlane
from control.api.strict_route import StrictRoute
from control.operations.hosts import list_devices, list_hosts, request_drain, revoke_host
from control.operations.keys import id_of_host
from corral.contract.fleet import DeviceList, DrainRequest, HostList, HostView, Scope

router = APIRouter(route_class=StrictRoute, tags=["hosts"])


@router.get("/v1/hosts", dependencies=[with_scope(Scope.HOSTS_READ)], summary="List hosts")
def hosts(plane: ThePlane) -> HostList:
    return list_hosts(plane)


@router.post("/v1/hosts/{host_id}/drain", dependencies=[with_scope(Scope.HOSTS_ADMIN)], summary="Drain a host")
def drain(plane: ThePlane, host_id: UUID, request: Annotated[DrainRequest | None, Body()] = None) -> HostView:
    """The host finishes what it has and takes no more; with `draining: false` it takes tasks again."""
    return request_drain(plane, host_id, draining=request.draining if request else True)


@router.post("/v1/hosts/{host_id}/revoke", dependencies=[with_scope(Scope.HOSTS_ADMIN)], summary="Revoke a host")
def revoke(edge: TheEdge, host_id: UUID) -> HostView:
    """Its credential is void at once and for good, and what it has not begun goes back to the queue.

    Its runs stop by themselves, at the latest when their leases end. To come back it has to join anew.
    """
    revoked = revoke_host(edge.plane, host_id)
    # Here without a detour: Redis may be away.
    edge.hosts.drop(id_of_host(host_id))
    return revoked


@router.get("/v1/devices", dependencies=[with_scope(Scope.HOSTS_READ)], summary="List devices")
def devices(
    plane: ThePlane, host_id: Annotated[UUID | None, Query(description="Of this host alone.")] = None
) -> DeviceList:
    return list_devices(plane, host_id=host_id)
