"""For probes: whether this process lives, and whether it can serve."""

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.responses import Response

from control.api.edge import TheEdge
from control.api.strict_route import TolerantRoute
from control.domain.errors import NotReady
from control.store.revision import current_revision
from corral.metrics_server import CONTENT_TYPE, exposition

router = APIRouter(route_class=TolerantRoute, tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
async def healthz() -> dict[str, str]:
    return {"status": "alive"}


@router.get("/readyz", summary="Whether requests can be served")
def readyz(edge: TheEdge) -> dict[str, str]:
    """Without Redis everything works, only later: that is reported and is no failure."""
    revision = current_revision(edge.plane.database)
    # A newer schema is fine: migrations are additive, and a rolling upgrade migrates first.
    if revision is None or revision < edge.head_revision:
        raise NotReady(
            f"the database is at revision {revision or 'none'} and this code needs {edge.head_revision}:"
            " run `corral migrate`"
        )
    return {"status": "ready", "postgres": "ok", "redis": "ok" if edge.listener.is_connected else "degraded"}


@router.get(
    "/metrics",
    summary="What this process has counted",
    response_class=Response,
    responses={200: {"description": "The text format of Prometheus.", "content": {"text/plain": {}}}},
)
async def metrics(edge: TheEdge) -> Response:
    """For Prometheus: what this process has counted, and the state of the fleet, which every process shows."""
    fleet = await edge.fleet_gauges.page()
    return Response(await run_sync(exposition) + fleet, media_type=CONTENT_TYPE)
