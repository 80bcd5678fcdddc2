"""Remember what Celery clients sent and revoked.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE celery_requests (
            task_id uuid NOT NULL,
            request jsonb NOT NULL,
            expires_at timestamptz,
            published jsonb,
            is_settled boolean NOT NULL,
            CONSTRAINT pk_celery_requests PRIMARY KEY (task_id),
            CONSTRAINT fk_celery_requests_task_id FOREIGN KEY (task_id) REFERENCES scheduled_tasks (task_id)
        )
        """
    )
    op.execute("CREATE INDEX ix_celery_requests_open ON celery_requests (task_id) WHERE NOT is_settled")
    op.execute(
        """
        CREATE TABLE celery_revokes (
            task_id uuid NOT NULL,
            revoked_at timestamptz NOT NULL,
            actor text NOT NULL,
            reason text,
            CONSTRAINT pk_celery_revokes PRIMARY KEY (task_id)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE celery_revokes")
    op.execute("DROP TABLE celery_requests")
