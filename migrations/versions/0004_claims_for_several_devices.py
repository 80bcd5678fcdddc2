"""Let one claim begin several attempts, each on a device of its own.

The wider rule takes its place before the narrower one goes, and is built without a lock on writers, so it may run while
the system does.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NARROW = "uq_task_attempts_host_id_claim_id"
WIDE = "uq_task_attempts_host_id_claim_id_task_id"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(
            f"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {WIDE} ON task_attempts (host_id, claim_id, task_id)"
        )
    op.execute(f"ALTER TABLE task_attempts ADD CONSTRAINT {WIDE} UNIQUE USING INDEX {WIDE}")
    op.execute(f"ALTER TABLE task_attempts DROP CONSTRAINT {NARROW}")


def downgrade() -> None:
    # All but one attempt of a claim get an id that nobody asks for again: a repeat of it would be given one of them.
    op.execute("""
        UPDATE task_attempts AS attempt SET claim_id = gen_random_uuid()
        WHERE EXISTS (SELECT 1 FROM task_attempts AS first WHERE first.host_id = attempt.host_id
                      AND first.claim_id = attempt.claim_id AND first.task_id < attempt.task_id)
    """)
    op.execute(f"ALTER TABLE task_attempts ADD CONSTRAINT {NARROW} UNIQUE (host_id, claim_id)")
    op.execute(f"ALTER TABLE task_attempts DROP CONSTRAINT {WIDE}")
