"""The tables. Alembic compares them with what the migrations made; statements are written as SQL beside them."""

from enum import StrEnum

from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID

from corral.contract.fleet import DeviceState
from corral.contract.history import AttemptStatus
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskKind

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


def _instant(name: str, *, nullable: bool = True) -> Column[object]:
    return Column(name, TIMESTAMP(timezone=True), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, JSONB(none_as_null=True), nullable=nullable)


HOLDS_A_DEVICE = text("status IN ('assigned', 'dispatched')")
IS_QUEUED = text("status = 'queued'")
CANCEL_EVENTS = text("kind IN ('task.cancel_requested', 'task.cancel_delivered', 'task.cancel_seen')")

hosts = Table(
    "hosts",
    metadata,
    Column("host_id", UUID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("credential_hash", LargeBinary, nullable=False),
    _json("labels"),
    _json("facts"),
    Column("version", Text),
    _json("supported_commands"),
    Column("incarnation", UUID),
    # Former lives: one that speaks again is a process that should be dead.
    _json("retired_incarnations"),
    Column("is_online", Boolean, nullable=False),
    Column("is_drain_requested", Boolean, nullable=False),
    Column("is_draining", Boolean, nullable=False),
    _instant("registered_at", nullable=False),
    _instant("last_seen_at"),
    # Its credential is void from then on.
    _instant("revoked_at"),
    # Equal for hosts whose devices get equal labels from them, name aside.
    Column(
        "label_key",
        BigInteger,
        Computed("hashtextextended(supported_commands::text || labels::text, 0)", persisted=True),
        nullable=False,
    ),
)

devices = Table(
    "devices",
    metadata,
    Column("device_id", UUID, primary_key=True),
    Column("host_id", UUID, ForeignKey("hosts.host_id"), nullable=False),
    Column("serial", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("remedy", Text),
    Column("model", Text),
    Column("manufacturer", Text),
    Column("android_version", Text),
    Column("battery_level", Integer),
    _json("labels"),
    _json("facts"),
    _instant("last_seen_at", nullable=False),
    # Equal for devices with equal labels of their own, serial aside.
    Column(
        "label_key",
        BigInteger,
        Computed(
            "hashtextextended(coalesce(model, '') || chr(31) || coalesce(manufacturer, '') || chr(31)"
            " || coalesce(android_version, '') || chr(31) || labels::text, 0)",
            persisted=True,
        ),
        nullable=False,
    ),
    UniqueConstraint("host_id", "serial"),
    _one_of("state", DeviceState),
)

#: The devices that no task holds. Triggers on tasks and devices keep it (see the migration that made it); nothing else
#: writes it. A pass begins to look here: in a busy fleet it is short.
free_devices = Table("free_devices", metadata, Column("device_id", UUID, primary_key=True))

scheduled_tasks = Table(
    "scheduled_tasks",
    metadata,
    Column("task_id", UUID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text),
    Column("status", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    _json("labels"),
    _json("requires"),
    Column("requirement_class", Text, nullable=False),
    Column("batch_id", Text),
    Column("flow", Text),
    Column("goal", Text),
    Column("verify", Text),
    _json("agent", nullable=True),
    _json("files"),
    _json("env"),
    Column("max_attempts", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("timeout_seconds", Integer),
    Column("queue_timeout_seconds", Integer),
    _instant("created_at", nullable=False),
    Column("created_by", Text, nullable=False),
    _instant("queued_at", nullable=False),
    Column("host_id", UUID, ForeignKey("hosts.host_id")),
    Column("device_id", UUID, ForeignKey("devices.device_id")),
    _instant("assigned_at"),
    Column("lease_id", UUID),
    _instant("started_at"),
    _instant("finished_at"),
    _json("progress", nullable=True),
    Column("failure_reason", Text),
    _json("result", nullable=True),
    _instant("cancel_requested_at"),
    Column("cancel_reason", Text),
    _one_of("kind", TaskKind),
    _one_of("status", TaskStatus),
    Index("ix_scheduled_tasks_age", "created_at"),
    Index("ix_scheduled_tasks_status_age", "status", "created_at"),
    Index("ix_scheduled_tasks_batch_age", "batch_id", "created_at", postgresql_where=text("batch_id IS NOT NULL")),
    Index("ix_scheduled_tasks_host_age", "host_id", "created_at", postgresql_where=text("host_id IS NOT NULL")),
    Index("ix_scheduled_tasks_device_age", "device_id", "created_at", postgresql_where=text("device_id IS NOT NULL")),
    Index("ix_scheduled_tasks_labels", "labels", postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"}),
    Index(
        "ix_scheduled_tasks_queue_order",
        "requirement_class",
        text("priority DESC"),
        "created_at",
        "task_id",
        postgresql_where=IS_QUEUED,
    ),
    Index(
        "ix_scheduled_tasks_impatient",
        "task_id",
        postgresql_where=text("status = 'queued' AND queue_timeout_seconds IS NOT NULL"),
    ),
    # What makes a double booking impossible, whatever else goes wrong.
    Index("uq_scheduled_tasks_busy_device", "device_id", unique=True, postgresql_where=HOLDS_A_DEVICE),
    Index("ix_scheduled_tasks_cancelling", "task_id", postgresql_where=text("cancel_requested_at IS NOT NULL")),
    # Half-empty pages let a change of status stay in its page.
    postgresql_with={"fillfactor": "70"},
)

task_attempts = Table(
    "task_attempts",
    metadata,
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("lease_id", UUID, nullable=False),
    Column("host_id", UUID, ForeignKey("hosts.host_id"), nullable=False),
    Column("device_id", UUID, ForeignKey("devices.device_id"), nullable=False),
    Column("claim_id", UUID, nullable=False),
    # One claim may begin several attempts, counted from 1.
    Column("claim_position", Integer, nullable=False, server_default="1"),
    Column("status", Text, nullable=False),
    _instant("claimed_at", nullable=False),
    _instant("finished_at"),
    Column("cause", Text),
    Column("failure_reason", Text),
    _json("result", nullable=True),
    # What the host reported, word for word: a repeated report is compared with this.
    _json("report", nullable=True),
    PrimaryKeyConstraint("task_id", "attempt"),
    UniqueConstraint("lease_id"),
    # What lets one request alone answer a claim, however many ask under its id at once.
    UniqueConstraint("host_id", "claim_id", "claim_position"),
    _one_of("status", AttemptStatus),
)

leases = Table(
    "leases",
    metadata,
    Column("lease_id", UUID, primary_key=True),
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("host_id", UUID, nullable=False),
    Column("device_id", UUID, nullable=False),
    Column("incarnation", UUID, nullable=False),
    # No index here: it would turn every renewal into a write to all indexes.
    _instant("expires_at", nullable=False),
    _json("progress", nullable=True),
    UniqueConstraint("task_id"),
    UniqueConstraint("device_id"),
    Index("ix_leases_host", "host_id"),
    # Renewals rewrite rows in place, and the first ones make them longer by the progress: the room for both is left.
    postgresql_with={"fillfactor": "40"},
)

task_events = Table(
    "task_events",
    metadata,
    Column("event_id", BigInteger, Identity(always=True), primary_key=True),
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), nullable=False),
    _instant("at", nullable=False),
    Column("kind", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    _json("details"),
    Index("ix_task_events_task", "task_id", "event_id"),
    # A task is cancelled once at most, so each of these facts is written once at most.
    Index("uq_task_events_cancel", "task_id", "kind", unique=True, postgresql_where=CANCEL_EVENTS),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    _json("scopes"),
    _instant("created_at", nullable=False),
    _instant("revoked_at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    # The API key it was sent with, not its name: two keys may have one name.
    Column("key_id", Text, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("request_hash", LargeBinary, nullable=False),
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), nullable=False),
    _instant("created_at", nullable=False),
    PrimaryKeyConstraint("key_id", "idempotency_key"),
)

job_runs = Table(
    "job_runs",
    metadata,
    Column("name", Text, primary_key=True),
    _instant("last_run_at", nullable=False),
    # Since when the runs have followed each other without a gap.
    _instant("unbroken_since", nullable=False),
    Column("ran_by", Text, nullable=False),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("artifact_id", UUID, primary_key=True),
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    _instant("created_at", nullable=False),
    Column("is_late", Boolean, nullable=False),
    UniqueConstraint("task_id", "attempt", "name"),
)

#: Tasks that came in as Celery tasks, under their Celery id, until their results are with whoever sent them.
celery_requests = Table(
    "celery_requests",
    metadata,
    Column("task_id", UUID, ForeignKey("scheduled_tasks.task_id"), primary_key=True),
    # What of the message completes it: id, root_id, parent_id, group, chord, chain, callbacks, errbacks.
    _json("request"),
    # A task that has not begun by then is cancelled.
    _instant("expires_at"),
    # The state and its meta that the result backend was last given.
    _json("published", nullable=True),
    # Its end is published too: nothing is left to do.
    Column("is_settled", Boolean, nullable=False),
    Index("ix_celery_requests_open", "task_id", postgresql_where=text("NOT is_settled")),
)

#: Revokes of ids that no task has yet: its message may still be on its way.
celery_revokes = Table(
    "celery_revokes",
    metadata,
    Column("task_id", UUID, primary_key=True),
    _instant("revoked_at", nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text),
)

#: How far those have come who tell of the events of all tasks, so that another goes on from there.
feed_positions = Table(
    "feed_positions",
    metadata,
    Column("reader", Text, primary_key=True),
    Column("after_event_id", BigInteger, nullable=False),
)
