"""Give the labels of hosts and devices a short key, by which devices that are alike are matched together.

Computed by Postgres from columns that exist, so whoever writes them need not know of it. Both tables are written anew,
under a lock that lasts for about a second with 100,000 devices.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE hosts ADD COLUMN label_key bigint NOT NULL GENERATED ALWAYS AS (
            hashtextextended(supported_commands::text || labels::text, 0)
        ) STORED
    """)
    op.execute("""
        ALTER TABLE devices ADD COLUMN label_key bigint NOT NULL GENERATED ALWAYS AS (
            hashtextextended(
                coalesce(model, '') || chr(31) || coalesce(manufacturer, '') || chr(31)
                || coalesce(android_version, '') || chr(31) || labels::text, 0)
        ) STORED
    """)


def downgrade() -> None:
    op.execute("ALTER TABLE devices DROP COLUMN label_key")
    op.execute("ALTER TABLE hosts DROP COLUMN label_key")
