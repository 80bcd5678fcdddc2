"""Revokes that came before their tasks. One of the two statements below always sees what the other has left."""

from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction

#: A message that waits longer than this in a queue of Celery is not accepted as revoked any more.
REVOKES_KEPT_DAYS = 7


def lock_celery_id(tx: Transaction, task_id: UUID) -> None:
    """Until the end of the transaction, nobody else accepts or revokes this id."""
    tx.run("SELECT pg_advisory_xact_lock(hashtextextended(CAST(:task_id AS text), 7203020))", task_id=task_id)


def keep_revoke(tx: Transaction, task_id: UUID, *, actor: str, reason: str | None) -> None:
    """Remember the revoke of a task that does not exist yet, or never will. The id must be locked."""
    tx.run(
        """
        INSERT INTO celery_revokes (task_id, revoked_at, actor, reason)
        VALUES (:task_id, corral_now(), :actor, :reason) ON CONFLICT DO NOTHING
        """,
        task_id=task_id,
        actor=actor,
        reason=reason,
    )


def take_revoke(tx: Transaction, task_id: UUID) -> RowMapping | None:
    """The revoke that was kept for this id: `actor` and `reason`. The id must be locked."""
    return tx.row("DELETE FROM celery_revokes WHERE task_id = :task_id RETURNING actor, reason", task_id=task_id)


def forget_revokes(tx: Transaction) -> int:
    """Drop those whose task never came."""
    return tx.run(
        "DELETE FROM celery_revokes WHERE revoked_at < corral_now() - make_interval(days => :days)",
        days=REVOKES_KEPT_DAYS,
    )
