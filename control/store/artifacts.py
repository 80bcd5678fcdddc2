"""What is known of artifacts; their bytes are elsewhere."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction

_VIEW = "artifact_id, name, attempt, media_type, size_bytes, sha256, created_at, is_late"


def lock_attempt(tx: Transaction, *, task_id: UUID, attempt: int) -> str | None:
    """Let uploads of one attempt go one after the other; its status, or None where its task was purged meanwhile."""
    # The task first, as everywhere: the purge holds it while it deletes what belongs to it.
    tx.row("SELECT 1 FROM scheduled_tasks WHERE task_id = :task_id FOR KEY SHARE", task_id=task_id)
    row = tx.row(
        "SELECT status FROM task_attempts WHERE task_id = :task_id AND attempt = :attempt FOR NO KEY UPDATE",
        task_id=task_id,
        attempt=attempt,
    )
    return row["status"] if row else None


def replace_artifact(
    tx: Transaction,
    *,
    artifact_id: UUID,
    task_id: UUID,
    attempt: int,
    name: str,
    media_type: str,
    size_bytes: int,
    sha256: str,
    is_late: bool,
) -> UUID | None:
    """Put in an artifact in the place of an earlier upload of the same name; answers that one's id.

    The caller has locked the attempt.
    """
    earlier = tx.row(
        """
        DELETE FROM artifacts WHERE task_id = :task_id AND attempt = :attempt AND name = :name RETURNING artifact_id
        """,
        task_id=task_id,
        attempt=attempt,
        name=name,
    )
    tx.run(
        """
        INSERT INTO artifacts (artifact_id, task_id, attempt, name, media_type, size_bytes, sha256, created_at, is_late)
        VALUES (:artifact_id, :task_id, :attempt, :name, :media_type, :size_bytes, :sha256, corral_now(), :is_late)
        """,
        artifact_id=artifact_id,
        task_id=task_id,
        attempt=attempt,
        name=name,
        media_type=media_type,
        size_bytes=size_bytes,
        sha256=sha256,
        is_late=is_late,
    )
    return earlier["artifact_id"] if earlier else None


def artifacts_of(tx: Transaction, task_id: UUID) -> Sequence[RowMapping]:
    return tx.rows(f"SELECT {_VIEW} FROM artifacts WHERE task_id = :task_id ORDER BY attempt, name", task_id=task_id)


def find_artifact(tx: Transaction, *, task_id: UUID, name: str, attempt: int | None) -> RowMapping | None:
    """The artifact of that name: of one attempt, or of the last that has it."""
    return tx.row(
        f"""
        SELECT {_VIEW} FROM artifacts WHERE task_id = :task_id AND name = :name
            AND (CAST(:attempt AS integer) IS NULL OR attempt = :attempt)
        ORDER BY attempt DESC LIMIT 1
        """,
        task_id=task_id,
        name=name,
        attempt=attempt,
    )
