"""The claim: a long poll that holds no thread and no connection while it waits.

    request ─► waiter registered ─► claim? ─ yes ─► assignments
                                      │ ▲
                                   no │ │ woken, or the look that all waiting claims share has found something
                                      ▼ │
                                     waits ─► hold over ─► nothing

The waiter is registered first and cleared before each claim, so an assignment that comes between claim and wait is
found. Each claim asks first whether the host still listens: nothing may be claimed for a poll that was abandoned.
"""

import time
from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.requests import Request

from control.api.access import NamedHost
from control.api.edge import Edge, TheEdge
from control.api.strict_route import TolerantRoute
from control.metrics import HELD_CLAIMS
from control.operations.claim import claim_assignments, claim_reply, hosts_with_assignments
from control.signals.listener import Waiter
from corral.contract.host_protocol import Assignment, ClaimReply, ClaimRequest

router = APIRouter(route_class=TolerantRoute, tags=["host protocol"])


@router.post("/internal/v1/hosts/{host_id}/claim", summary="Ask for work, and wait for it")
async def claim(edge: TheEdge, http: Request, host_id: NamedHost, request: ClaimRequest) -> ClaimReply:
    received_at: float = http.state.received_at
    deadline = time.monotonic() + request.wait_ms / 1000
    with edge.listener.waiting_for(host_id) as waiter:
        is_promising = True
        while not await http.is_disconnected():
            if is_promising:
                waiter.clear()
                held_ms = _ms_since(received_at)
                if claimed := await _claim(edge, host_id, request):
                    return claim_reply(claimed, held_ms=held_ms)
            remaining_seconds = deadline - time.monotonic()
            if remaining_seconds <= 0 or edge.listener.is_ending:
                break
            is_promising = await _wait(edge, host_id, waiter, remaining_seconds)
    return ClaimReply(assignment=None, held_ms=_ms_since(received_at))


async def _claim(edge: Edge, host_id: UUID, request: ClaimRequest) -> list[Assignment]:
    return await run_sync(claim_assignments, edge.plane, host_id, request, limiter=edge.claim_threads)


async def _wait(edge: Edge, host_id: UUID, waiter: Waiter, remaining_seconds: float) -> bool:
    """Wait for a wake-up, but not for too long. True if there is a reason to claim again."""
    recheck_seconds = edge.listener.recheck_seconds
    began_at, limit_seconds = time.monotonic(), min(remaining_seconds, recheck_seconds)
    with HELD_CLAIMS.track_inprogress():
        await waiter.wait(limit_seconds)
    if time.monotonic() - began_at < limit_seconds:
        return True
    if remaining_seconds <= recheck_seconds:
        return False  # The hold is over: the host's next poll begins with a claim.
    return await edge.shared_look.has_work(
        host_id,
        lambda: run_sync(hosts_with_assignments, edge.plane, limiter=edge.claim_threads),
        max_age_seconds=recheck_seconds / 2,
    )


def _ms_since(moment: float) -> int:
    return int((time.monotonic() - moment) * 1000)
