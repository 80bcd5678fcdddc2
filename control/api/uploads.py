"""Artifacts on their way from a host: streamed from the socket into a file, never held in memory."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import Annotated
from uuid import UUID

import anyio.from_thread
from anyio.to_thread import run_sync
from fastapi import APIRouter, Path
from starlette.requests import Request

from control.api.access import CallingHost
from control.api.edge import TheEdge
from control.api.strict_route import TolerantRoute
from control.domain.errors import InvalidRequest
from control.operations.artifacts import store_artifact
from corral.contract.host_protocol import ArtifactStored
from corral.contract.models import ArtifactName

router = APIRouter(route_class=TolerantRoute, tags=["host protocol"])

#: A host that sends nothing for this long will not send the rest; its thread is needed by others.
CHUNK_LIMIT_SECONDS = 30.0
DEFAULT_MEDIA_TYPE = "application/octet-stream"


@router.put(
    "/internal/v1/leases/{lease_id}/artifacts/{name}",
    summary="Upload an artifact",
    openapi_extra={"requestBody": {"required": True, "content": {DEFAULT_MEDIA_TYPE: {}}}},
)
async def upload(
    edge: TheEdge, http: Request, lease_id: UUID, name: Annotated[ArtifactName, Path()], host_id: CallingHost
) -> ArtifactStored:
    store = partial(
        store_artifact,
        edge.plane,
        host_id,
        lease_id,
        name,
        media_type=http.headers.get("content-type", DEFAULT_MEDIA_TYPE)[:200],
        chunks=_from_thread(http.stream()),
    )
    return await run_sync(store, limiter=edge.upload_threads)


def _from_thread(stream: AsyncGenerator[bytes]) -> Generator[bytes]:
    while (chunk := anyio.from_thread.run(_next_chunk, stream)) is not None:
        yield chunk


async def _next_chunk(stream: AsyncGenerator[bytes]) -> bytes | None:
    try:
        async with asyncio.timeout(CHUNK_LIMIT_SECONDS):
            return await anext(stream, None)
    except TimeoutError:
        raise InvalidRequest(f"nothing of the body arrived for {CHUNK_LIMIT_SECONDS:.0f} seconds") from None
