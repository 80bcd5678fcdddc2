"""The claim: a long poll that holds no thread and no connection while it waits.

    request ─► waiter registered ─► claim? ─ yes ─► assignment
                                      │ ▲
                                   no ▼ │ woken, or a few seconds have passed
                                     waits ─► hold over ─► nothing

The waiter is registered first and cleared before each look, so an assignment that comes between look and wait is found.
Each look asks first whether the host still listens: nothing may be claimed for a poll that was abandoned.
"""

import time
from uuid import UUID

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.requests import Request

from control.api.access import NamedHost
from control.api.edge import Edge, TheEdge
from control.api.strict_route import TolerantRoute
from control.operations.claim import claim_assignments, claim_reply
from corral.contract.host_protocol import Assignment, ClaimReply, ClaimRequest

router = APIRouter(route_class=TolerantRoute, tags=["host protocol"])


@router.post("/internal/v1/hosts/{host_id}/claim", summary="Ask for work, and wait for it")
async def claim(edge: TheEdge, http: Request, host_id: NamedHost, request: ClaimRequest) -> ClaimReply:
    received_at: float = http.state.received_at
    deadline = time.monotonic() + request.wait_ms / 1000
    with edge.listener.waiting_for(host_id) as waiter:
        while True:
            waiter.clear()
            if await http.is_disconnected():
                return ClaimReply(assignment=None, held_ms=_ms_since(received_at))
            held_ms = _ms_since(received_at)
            claimed = await _look(edge, host_id, request)
            remaining_seconds = deadline - time.monotonic()
            if claimed or remaining_seconds <= 0 or edge.listener.is_ending:
                return claim_reply(claimed, held_ms=held_ms)
            await waiter.wait(min(remaining_seconds, edge.listener.recheck_seconds))


async def _look(edge: Edge, host_id: UUID, request: ClaimRequest) -> list[Assignment]:
    return await run_sync(claim_assignments, edge.plane, host_id, request, limiter=edge.claim_threads)


def _ms_since(moment: float) -> int:
    return int((time.monotonic() - moment) * 1000)
