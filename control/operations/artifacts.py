"""Keep what a run leaves behind: screenshots, logs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import RowMapping

from control.artifacts import ArtifactTooLarge
from control.domain.errors import ArtifactNotFound, BodyTooLarge
from control.operations.leases import stale_lease
from control.operations.plane import Plane
from control.operations.tasks import must_exist
from control.store import artifacts, attempts
from corral.contract.history import ArtifactList, ArtifactView, AttemptStatus
from corral.contract.host_protocol import ArtifactStored
from corral.contract.identifiers import uuid7

#: A host that lost its lease may still hand in evidence of that run for this long.
EVIDENCE_TIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class FoundArtifact:
    path: Path
    view: ArtifactView


def store_artifact(
    plane: Plane, host_id: UUID, lease_id: UUID, name: str, *, media_type: str, chunks: Iterable[bytes]
) -> ArtifactStored:
    """Keep a file of a run; one of the same name and attempt is replaced. After the lease it is marked as late.

    Raises:
        StaleLease: there was no such lease, or it ended too long ago.
        BodyTooLarge: more bytes came than are allowed; nothing is kept.
    """
    attempt = _attempt(plane, host_id, lease_id)
    artifact_id = uuid7()
    try:
        stored = plane.artifacts.write(artifact_id, chunks)
    except ArtifactTooLarge as error:
        raise BodyTooLarge(str(error), max_bytes=plane.artifacts.max_bytes) from error
    key = {"task_id": attempt["task_id"], "attempt": attempt["attempt"]}
    with plane.database.transaction() as tx:
        status = artifacts.lock_attempt(tx, **key)
        is_late = status == AttemptStatus.EXPIRED
        superseded = artifact_id
        if status is not None:
            superseded = artifacts.replace_artifact(
                tx,
                **key,
                artifact_id=artifact_id,
                name=name,
                media_type=media_type,
                size_bytes=stored.size_bytes,
                sha256=stored.sha256,
                is_late=is_late,
            )
    if superseded:
        plane.artifacts.delete(superseded)
    if status is None:
        raise stale_lease(lease_id)
    return ArtifactStored(name=name, size_bytes=stored.size_bytes, sha256=stored.sha256, is_late=is_late)


def list_artifacts(plane: Plane, task_id: UUID) -> ArtifactList:
    """What the runs of a task left behind.

    Raises:
        TaskNotFound: there is no such task.
    """
    with plane.database.snapshot() as tx:
        must_exist(tx, task_id)
        rows = artifacts.artifacts_of(tx, task_id)
        return ArtifactList(artifacts=[ArtifactView.model_validate(dict(row)) for row in rows])


def find_artifact(plane: Plane, task_id: UUID, name: str, *, attempt: int | None) -> FoundArtifact:
    """One file: of the attempt that is named, or of the last one that left it.

    Raises:
        TaskNotFound: there is no such task.
        ArtifactNotFound: the task has no such file.
    """
    with plane.database.snapshot() as tx:
        must_exist(tx, task_id)
        row = artifacts.find_artifact(tx, task_id=task_id, name=name, attempt=attempt)
        path = plane.artifacts.path(row["artifact_id"]) if row else None
        if row is None or path is None:
            raise ArtifactNotFound(f"task {task_id} has no artifact '{name}'", task_id=str(task_id), name=name)
        return FoundArtifact(path=path, view=ArtifactView.model_validate(dict(row)))


def _attempt(plane: Plane, host_id: UUID, lease_id: UUID) -> RowMapping:
    with plane.database.transaction() as tx:
        attempt = attempts.attempt_by_lease(tx, lease_id=lease_id, host_id=host_id)
    if attempt is None or (attempt["ended_for"] is not None and attempt["ended_for"] > EVIDENCE_TIME):
        raise stale_lease(lease_id)
    return attempt
