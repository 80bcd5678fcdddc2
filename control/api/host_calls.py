"""What hosts call apart from claims: register, heartbeat, and the life of a lease.

Nearly all renewals are answered in front of this application (`control.renewals.routes`), by the same two calls that
stand here for whatever is not quite as usual there.

Who registers or sends a heartbeat takes a place, so both ask first whether the caller still listens. A process that is
gone must not take the place of the one that came after it, only because its request had waited for us.
"""

from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import APIRouter
from msgspec import structs, to_builtins
from starlette.requests import ClientDisconnect, Request

from control.api.access import CallingHost, Joining, NamedHost
from control.api.edge import TheEdge, ThePlane
from control.api.strict_route import TolerantRoute
from control.operations.hosts import heartbeat, register_host
from control.operations.results import record_task_result
from control.renewals.exchange import CallerGone
from control.store.json_text import as_json
from control.store.leases import Renewal
from corral.contract.host_protocol import (
    Heartbeat,
    HeartbeatReply,
    HeldLease,
    HostRegistered,
    HostRegistration,
    HostRenewalRequest,
    HostRenewalResponse,
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
async def renew(
    edge: TheEdge, lease_id: UUID, host_id: CallingHost, renewal: LeaseRenewalRequest | None = None
) -> LeaseRenewalResponse:
    said = renewal or LeaseRenewalRequest()
    renewed = await edge.renewals.renew_one(_renewal(lease_id, host_id, said))
    return LeaseRenewalResponse.model_validate(structs.asdict(renewed))


@router.post("/internal/v1/hosts/{host_id}/renew", summary="Renew all leases of a host, and wait for a cancel")
async def renew_all(
    edge: TheEdge, http: Request, host_id: NamedHost, request: HostRenewalRequest
) -> HostRenewalResponse:
    """Held for up to `wait_ms`, and answered early when one of the leases is cancelled or lost."""
    try:
        renewed = await edge.renewals.renew_host(
            str(host_id),
            [_renewal(held.lease_id, host_id, held) for held in request.leases],
            wait_seconds=request.wait_ms / 1000,
            received_at=http.state.received_at,
            is_gone=http.is_disconnected,
        )
    except CallerGone:
        raise ClientDisconnect from None
    return HostRenewalResponse.model_validate(to_builtins(renewed))


@router.post("/internal/v1/leases/{lease_id}/result", summary="Report what came of a run")
async def report(
    edge: TheEdge, lease_id: UUID, host_id: CallingHost, report: TerminalResultRequest
) -> TerminalResultResponse:
    answer = await run_sync(record_task_result, edge.plane, host_id, lease_id, report)
    # No other process is told, for the host itself knows; this one knows too.
    edge.renewals.forget(lease_id)
    return answer


def _renewal(lease_id: UUID, host_id: UUID, said: LeaseRenewalRequest | HeldLease) -> Renewal:
    progress = as_json(said.progress.model_dump(mode="json")) if said.progress else None
    return Renewal(str(lease_id), str(host_id), progress, said.cancel_seen)


async def _must_listen(http: Request) -> None:
    if await http.is_disconnected():
        raise ClientDisconnect
