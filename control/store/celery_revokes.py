"""Revokes that came before their tasks. One of the two statements below always sees what the other has left."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.job_runs import Lock, wait_for_lock

#: A message that waits longer than this in a queue of Celery is not accepted as revoked any more.
REVOKES_KEPT_DAYS = 7


def lock_celery_id(tx: Transaction, task_id: UUID) -> None:
    """Until the end of the transaction, nobody else accepts or revokes this id."""
    # In this order: whoever waits for the id holds back nobody who revokes longer than the one it waits for does.
    tx.run(
        """
        SELECT pg_advisory_xact_lock_shared(:ids),
               pg_advisory_xact_lock(hashtextextended(CAST(:task_id AS text), CAST(:id AS bigint)))
        """,
        task_id=task_id,
        ids=int(Lock.CELERY_IDS),
        id=int(Lock.CELERY_ID),
    )


def lock_celery_ids(tx: Transaction) -> None:
    """The same for every id there is. A lock for each of thousands would not fit into Postgres' table of locks."""
    wait_for_lock(tx, Lock.CELERY_IDS)


def look_for_revoked(tx: Transaction, task_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    """Those of these ids that are known: `is_task`, and `is_open` where it could still be cancelled."""
    return tx.rows(
        """
        SELECT revoked.task_id, task.task_id IS NOT NULL AS is_task,
               coalesce(task.status IN ('queued', 'assigned', 'dispatched') AND task.cancel_requested_at IS NULL, false)
                   AS is_open
        FROM unnest(CAST(:task_ids AS uuid[])) AS revoked (task_id)
        LEFT JOIN scheduled_tasks AS task ON task.task_id = revoked.task_id
        LEFT JOIN celery_revokes AS kept ON kept.task_id = revoked.task_id
        WHERE task.task_id IS NOT NULL OR kept.task_id IS NOT NULL
        """,
        task_ids=list(task_ids),
    )


def keep_revokes(tx: Transaction, task_ids: Sequence[UUID], *, actor: str, reason: str | None) -> None:
    """Remember revokes of tasks that do not exist yet, or never will. The ids must be locked."""
    tx.run(
        """
        INSERT INTO celery_revokes (task_id, revoked_at, actor, reason)
        SELECT task_id, corral_now(), :actor, CAST(:reason AS text)
        FROM unnest(CAST(:task_ids AS uuid[])) AS revoked (task_id)
        ON CONFLICT DO NOTHING
        """,
        task_ids=list(task_ids),
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
