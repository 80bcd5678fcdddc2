"""Attempts: one row for each claim, which stays when its lease has gone."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.json_text import as_json


def attempt_by_lease(
    tx: Transaction, *, lease_id: UUID, host_id: UUID, report: dict[str, Any] | None = None
) -> RowMapping | None:
    """The attempt that a lease belonged to, and whether this report is the one that is recorded."""
    return tx.row(
        """
        SELECT attempt.task_id, attempt.attempt, attempt.report, task.status AS task_status,
               attempt.report = CAST(:report AS jsonb) AS is_recorded, corral_now() - attempt.finished_at AS ended_for,
               EXISTS (SELECT 1 FROM leases AS lease WHERE lease.lease_id = attempt.lease_id) AS has_lease
        FROM task_attempts AS attempt JOIN scheduled_tasks AS task USING (task_id)
        WHERE attempt.lease_id = :lease_id AND attempt.host_id = :host_id
        """,
        lease_id=lease_id,
        host_id=host_id,
        # Compared as Postgres has stored it: its numbers and its texts are not in every case those that were sent.
        report=as_json(report),
    )


def attempts_of(tx: Transaction, task_id: UUID) -> Sequence[RowMapping]:
    return tx.rows(
        """
        SELECT attempt, status, host_id, device_id, claimed_at, finished_at, cause, failure_reason, result
        FROM task_attempts WHERE task_id = :task_id ORDER BY attempt
        """,
        task_id=task_id,
    )
