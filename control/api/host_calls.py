"""What hosts call apart from claims: register, heartbeat, and the life of a lease.

Who registers or sends a heartbeat takes a place, so both ask first whether the caller still listens. A process that is
gone must not take the place of the one that came after it, only because its request had waited for us.
"""

from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request

from control.api.access import CallingHost, Joining, NamedHost
from control.api.edge import ThePlane
from control.api.strict_route import TolerantRoute
from control.operations.hosts import heartbeat, register_host
from control.operations.leases import renew_lease
from control.operations.results import record_task_result
from corral.contract.host_protocol import (
    Heartbeat,
    HeartbeatReply,
    HostRegistered,
    HostRegistration,
    LeaseRenewalRequest,
    LeaseRenewalResponse,
    TerminalResultRequest,
    TerminalResultResponse,
)

router = APIRouter(route_class=TolerantRoute, tags=["host protocol"])


@router.post("/internal/v1/hosts/register", dependencies=[Joining], summary="Enrol a host")
async def register(plane: ThePlane, http: Request, registration: HostRegistration) -> HostRegistered:
    await _must_listen(http)
    return await run_sync(register_host, plane, registration)


@router.post("/internal/v1/hosts/{host_id}/heartbeat", summary="Say that a host lives, and which devices it has")
async def beat(plane: ThePlane, http: Request, host_id: NamedHost, beat: Heartbeat) -> HeartbeatReply:
    await _must_listen(http)
    return await run_sync(heartbeat, plane, host_id, beat)


@router.post("/internal/v1/leases/{lease_id}/renew", summary="Renew a lease")
def renew(
    plane: ThePlane, lease_id: UUID, host_id: CallingHost, renewal: LeaseRenewalRequest | None = None
) -> LeaseRenewalResponse:
    return renew_lease(plane, host_id, lease_id, renewal or LeaseRenewalRequest())


@router.post("/internal/v1/leases/{lease_id}/result", summary="Report what came of a run")
def report(
    plane: ThePlane, lease_id: UUID, host_id: CallingHost, report: TerminalResultRequest
) -> TerminalResultResponse:
    return record_task_result(plane, host_id, lease_id, report)


async def _must_listen(http: Request) -> None:
    if await http.is_disconnected():
        raise ClientDisconnect
