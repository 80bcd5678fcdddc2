"""Remember how far the events of all tasks have been told.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE feed_positions (
            reader text NOT NULL,
            after_event_id bigint NOT NULL,
            CONSTRAINT pk_feed_positions PRIMARY KEY (reader)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE feed_positions")
