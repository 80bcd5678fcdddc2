"""The tables of tasks, attempts, leases, hosts, devices, keys, jobs and artifacts, and the clock they are judged by."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

#: Every instant is Postgres' own. The offset is zero except where a test moves time on for a database.
CORRAL_NOW = """
    CREATE FUNCTION corral_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT now() + coalesce(nullif(current_setting('corral.clock_offset', true), ''), '0')::interval
    $$
"""


def upgrade() -> None:
    op.execute(CORRAL_NOW)
    op.execute("""
        CREATE TABLE api_keys (
            key_id TEXT NOT NULL,
            name TEXT NOT NULL,
            secret_hash BYTEA NOT NULL,
            scopes JSONB NOT NULL,
            created_at timestamptz NOT NULL,
            revoked_at timestamptz,
            CONSTRAINT pk_api_keys PRIMARY KEY (key_id)
        )
    """)
    op.execute("""
        CREATE TABLE hosts (
            host_id UUID NOT NULL,
            name TEXT NOT NULL,
            credential_hash BYTEA NOT NULL,
            labels JSONB NOT NULL,
            facts JSONB NOT NULL,
            version TEXT,
            supported_commands JSONB NOT NULL,
            incarnation UUID,
            retired_incarnations JSONB NOT NULL,
            is_online BOOLEAN NOT NULL,
            is_drain_requested BOOLEAN NOT NULL,
            is_draining BOOLEAN NOT NULL,
            registered_at timestamptz NOT NULL,
            last_seen_at timestamptz,
            CONSTRAINT pk_hosts PRIMARY KEY (host_id)
        )
    """)
    op.execute("""
        CREATE TABLE job_runs (
            name TEXT NOT NULL,
            last_run_at timestamptz NOT NULL,
            unbroken_since timestamptz NOT NULL,
            ran_by TEXT NOT NULL,
            CONSTRAINT pk_job_runs PRIMARY KEY (name)
        )
    """)
    op.execute("""
        CREATE TABLE devices (
            device_id UUID NOT NULL,
            host_id UUID NOT NULL,
            serial TEXT NOT NULL,
            state TEXT NOT NULL,
            remedy TEXT,
            model TEXT,
            manufacturer TEXT,
            android_version TEXT,
            battery_level INTEGER,
            labels JSONB NOT NULL,
            facts JSONB NOT NULL,
            last_seen_at timestamptz NOT NULL,
            CONSTRAINT pk_devices PRIMARY KEY (device_id),
            CONSTRAINT uq_devices_host_id_serial UNIQUE (host_id, serial),
            CONSTRAINT ck_devices_state_is_known CHECK (state IN ('ready', 'offline', 'unauthorized', 'authorizing', 'no_permissions', 'connecting', 'recovery', 'parked', 'absent', 'unknown')),
            CONSTRAINT fk_devices_host_id FOREIGN KEY(host_id) REFERENCES hosts (host_id)
        )
    """)
    op.execute("""
        CREATE TABLE scheduled_tasks (
            task_id UUID NOT NULL,
            kind TEXT NOT NULL,
            name TEXT,
            status TEXT NOT NULL,
            priority INTEGER NOT NULL,
            labels JSONB NOT NULL,
            requires JSONB NOT NULL,
            requirement_class TEXT NOT NULL,
            batch_id TEXT,
            flow TEXT,
            files JSONB NOT NULL,
            env JSONB NOT NULL,
            max_attempts INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            timeout_seconds INTEGER,
            queue_timeout_seconds INTEGER,
            created_at timestamptz NOT NULL,
            created_by TEXT NOT NULL,
            queued_at timestamptz NOT NULL,
            host_id UUID,
            device_id UUID,
            assigned_at timestamptz,
            lease_id UUID,
            started_at timestamptz,
            finished_at timestamptz,
            progress JSONB,
            failure_reason TEXT,
            result JSONB,
            CONSTRAINT pk_scheduled_tasks PRIMARY KEY (task_id),
            CONSTRAINT ck_scheduled_tasks_kind_is_known CHECK (kind IN ('flow', 'goal')),
            CONSTRAINT ck_scheduled_tasks_status_is_known CHECK (status IN ('queued', 'assigned', 'dispatched', 'done', 'failed', 'cancelled')),
            CONSTRAINT fk_scheduled_tasks_host_id FOREIGN KEY(host_id) REFERENCES hosts (host_id),
            CONSTRAINT fk_scheduled_tasks_device_id FOREIGN KEY(device_id) REFERENCES devices (device_id)
        ) WITH (fillfactor = 70)
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_batch ON scheduled_tasks (batch_id, task_id) WHERE batch_id IS NOT NULL
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_device ON scheduled_tasks (device_id, task_id) WHERE device_id IS NOT NULL
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_host ON scheduled_tasks (host_id, task_id) WHERE host_id IS NOT NULL
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_impatient ON scheduled_tasks (task_id) WHERE status = 'queued' AND queue_timeout_seconds IS NOT NULL
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_labels ON scheduled_tasks USING gin (labels jsonb_path_ops)
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_queue ON scheduled_tasks (requirement_class, priority DESC, task_id) WHERE status = 'queued'
    """)
    op.execute("""
        CREATE INDEX ix_scheduled_tasks_status ON scheduled_tasks (status, task_id)
    """)
    op.execute("""
        CREATE UNIQUE INDEX uq_scheduled_tasks_busy_device ON scheduled_tasks (device_id) WHERE status IN ('assigned', 'dispatched')
    """)
    op.execute("""
        CREATE TABLE artifacts (
            artifact_id UUID NOT NULL,
            task_id UUID NOT NULL,
            attempt INTEGER NOT NULL,
            name TEXT NOT NULL,
            media_type TEXT NOT NULL,
            size_bytes BIGINT NOT NULL,
            sha256 TEXT NOT NULL,
            created_at timestamptz NOT NULL,
            is_late BOOLEAN NOT NULL,
            CONSTRAINT pk_artifacts PRIMARY KEY (artifact_id),
            CONSTRAINT uq_artifacts_task_id_attempt_name UNIQUE (task_id, attempt, name),
            CONSTRAINT fk_artifacts_task_id FOREIGN KEY(task_id) REFERENCES scheduled_tasks (task_id)
        )
    """)
    op.execute("""
        CREATE TABLE idempotency_keys (
            key_id TEXT NOT NULL,
            idempotency_key TEXT NOT NULL,
            request_hash BYTEA NOT NULL,
            task_id UUID NOT NULL,
            created_at timestamptz NOT NULL,
            CONSTRAINT pk_idempotency_keys PRIMARY KEY (key_id, idempotency_key),
            CONSTRAINT fk_idempotency_keys_task_id FOREIGN KEY(task_id) REFERENCES scheduled_tasks (task_id)
        )
    """)
    op.execute("""
        CREATE TABLE leases (
            lease_id UUID NOT NULL,
            task_id UUID NOT NULL,
            attempt INTEGER NOT NULL,
            host_id UUID NOT NULL,
            device_id UUID NOT NULL,
            incarnation UUID NOT NULL,
            expires_at timestamptz NOT NULL,
            progress JSONB,
            CONSTRAINT pk_leases PRIMARY KEY (lease_id),
            CONSTRAINT uq_leases_task_id UNIQUE (task_id),
            CONSTRAINT uq_leases_device_id UNIQUE (device_id),
            CONSTRAINT fk_leases_task_id FOREIGN KEY(task_id) REFERENCES scheduled_tasks (task_id)
        ) WITH (fillfactor = 40)
    """)
    op.execute("""
        CREATE INDEX ix_leases_host ON leases (host_id)
    """)
    op.execute("""
        CREATE TABLE task_attempts (
            task_id UUID NOT NULL,
            attempt INTEGER NOT NULL,
            lease_id UUID NOT NULL,
            host_id UUID NOT NULL,
            device_id UUID NOT NULL,
            claim_id UUID NOT NULL,
            status TEXT NOT NULL,
            claimed_at timestamptz NOT NULL,
            finished_at timestamptz,
            cause TEXT,
            failure_reason TEXT,
            result JSONB,
            report JSONB,
            CONSTRAINT pk_task_attempts PRIMARY KEY (task_id, attempt),
            CONSTRAINT uq_task_attempts_lease_id UNIQUE (lease_id),
            CONSTRAINT uq_task_attempts_host_id_claim_id UNIQUE (host_id, claim_id),
            CONSTRAINT ck_task_attempts_status_is_known CHECK (status IN ('dispatched', 'done', 'failed', 'cancelled', 'expired')),
            CONSTRAINT fk_task_attempts_task_id FOREIGN KEY(task_id) REFERENCES scheduled_tasks (task_id),
            CONSTRAINT fk_task_attempts_host_id FOREIGN KEY(host_id) REFERENCES hosts (host_id),
            CONSTRAINT fk_task_attempts_device_id FOREIGN KEY(device_id) REFERENCES devices (device_id)
        )
    """)
    op.execute("""
        CREATE TABLE task_events (
            event_id BIGINT GENERATED ALWAYS AS IDENTITY,
            task_id UUID NOT NULL,
            at timestamptz NOT NULL,
            kind TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            actor TEXT NOT NULL,
            details JSONB NOT NULL,
            CONSTRAINT pk_task_events PRIMARY KEY (event_id),
            CONSTRAINT fk_task_events_task_id FOREIGN KEY(task_id) REFERENCES scheduled_tasks (task_id)
        )
    """)
    op.execute("""
        CREATE INDEX ix_task_events_task ON task_events (task_id, event_id)
    """)


def downgrade() -> None:
    for table in (
        "task_events",
        "task_attempts",
        "leases",
        "idempotency_keys",
        "artifacts",
        "scheduled_tasks",
        "devices",
        "job_runs",
        "hosts",
        "api_keys",
    ):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION corral_now()")
