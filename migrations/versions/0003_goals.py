"""Let a task be a goal: its sentence, what must be seen at its end, and how its agent goes about it.

Additive and nullable, so it may run while the system does: tasks that exist are flows and have none of these.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduled_tasks ADD COLUMN goal text, ADD COLUMN verify text, ADD COLUMN agent jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE scheduled_tasks DROP COLUMN agent, DROP COLUMN verify, DROP COLUMN goal")
