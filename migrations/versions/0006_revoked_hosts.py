"""Let a host's credential be revoked.

Additive and nullable, so it may run while the system does.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE hosts ADD COLUMN revoked_at timestamptz")


def downgrade() -> None:
    op.execute("ALTER TABLE hosts DROP COLUMN revoked_at")
