"""Let a cancel request be stored with its task, and each fact about it be written once.

Additive and nullable, so it may run while the system does: tasks that exist read as never having been asked to stop.
The indexes are built without a lock on writers.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

CANCEL_EVENTS = "kind IN ('task.cancel_requested', 'task.cancel_delivered', 'task.cancel_seen')"


def upgrade() -> None:
    op.execute("ALTER TABLE scheduled_tasks ADD COLUMN cancel_requested_at timestamptz, ADD COLUMN cancel_reason text")
    with op.get_context().autocommit_block():
        op.execute("""
            CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_scheduled_tasks_cancelling
            ON scheduled_tasks (task_id) WHERE cancel_requested_at IS NOT NULL
        """)
        op.execute(f"""
            CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS uq_task_events_cancel
            ON task_events (task_id, kind) WHERE {CANCEL_EVENTS}
        """)


def downgrade() -> None:
    op.execute("DROP INDEX IF EXISTS uq_task_events_cancel")
    op.execute("DROP INDEX IF EXISTS ix_scheduled_tasks_cancelling")
    op.execute("ALTER TABLE scheduled_tasks DROP COLUMN cancel_reason, DROP COLUMN cancel_requested_at")
