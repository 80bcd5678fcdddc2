"""What runs left behind: lists and downloads. Hosts upload under `/internal/v1`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import FileResponse

from control.api.access import with_scope
from control.api.edge import ThePlane
from control.api.strict_route import StrictRoute
from control.operations.artifacts import find_artifact, list_artifacts
from corral.contract.fleet import Scope
from corral.contract.history import ArtifactList
from corral.contract.models import ArtifactName

router = APIRouter(route_class=StrictRoute, tags=["artifacts"], dependencies=[with_scope(Scope.TASKS_READ)])


@router.get("/v1/tasks/{task_id}/artifacts", summary="List the artifacts of a task")
def index(plane: ThePlane, task_id: UUID) -> ArtifactList:
    return list_artifacts(plane, task_id)


@router.get(
    "/v1/tasks/{task_id}/artifacts/{name}",
    summary="Download an artifact",
    response_class=FileResponse,
    responses={200: {"description": "The bytes, as an attachment.", "content": {"application/octet-stream": {}}}},
)
def download(
    plane: ThePlane,
    task_id: UUID,
    name: Annotated[ArtifactName, Path()],
    attempt: Annotated[
        int | None, Query(ge=1, le=1000, description="Of this attempt; of the last that has it where left out.")
    ] = None,
) -> FileResponse:
    found = find_artifact(plane, task_id, name, attempt=attempt)
    # Never shown in place: a page that a phone produced must not run in the origin of this API.
    return FileResponse(
        found.path, media_type=found.view.media_type, filename=name, content_disposition_type="attachment"
    )
