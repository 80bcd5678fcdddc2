"""Let one claim begin several attempts, which it counts.

The wider rule takes its place before the narrower one goes, and is built without a lock on writers, so it may run while
the system does: attempts that exist are the first of their claim, and so are those that an API process of before writes.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NARROW = "uq_task_attempts_host_id_claim_id"
WIDE = "uq_task_attempts_host_id_claim_id_claim_position"


def upgrade() -> None:
    op.execute("ALTER TABLE task_attempts ADD COLUMN claim_position integer NOT NULL DEFAULT 1")
    with op.get_context().autocommit_block():
        op.execute(f"""
            CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {WIDE} ON task_attempts (host_id, claim_id, claim_position)
        """)
    op.execute(f"ALTER TABLE task_attempts ADD CONSTRAINT {WIDE} UNIQUE USING INDEX {WIDE}")
    op.execute(f"ALTER TABLE task_attempts DROP CONSTRAINT {NARROW}")


def downgrade() -> None:
    # All but the first attempt of a claim get an id that nobody asks for again.
    op.execute("UPDATE task_attempts SET claim_id = gen_random_uuid() WHERE claim_position > 1")
    op.execute(f"ALTER TABLE task_attempts ADD CONSTRAINT {NARROW} UNIQUE (host_id, claim_id)")
    op.execute("ALTER TABLE task_attempts DROP COLUMN claim_position")
