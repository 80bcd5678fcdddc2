"""Keep a list of the devices that hold no task, and a short key of the labels of hosts and devices.

Both are kept by Postgres itself, whoever writes the rows they follow from, so processes of the version before may go on.
The tables of hosts and devices are written anew, under a lock that lasts for about a second with 100,000 devices.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

HOLDS = "{}.status IN ('assigned', 'dispatched')"


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
    op.execute(
        "CREATE TABLE free_devices (device_id UUID NOT NULL, CONSTRAINT pk_free_devices PRIMARY KEY (device_id))"
    )
    _follow_devices()
    _follow_tasks()
    op.execute("""
        INSERT INTO free_devices SELECT device_id FROM devices WHERE NOT EXISTS (
            SELECT 1 FROM scheduled_tasks AS task
            WHERE task.device_id = devices.device_id AND task.status IN ('assigned', 'dispatched'))
    """)


def _follow_devices() -> None:
    op.execute("""
        CREATE FUNCTION free_devices_follow_devices() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO free_devices VALUES (NEW.device_id) ON CONFLICT DO NOTHING;
            ELSE
                DELETE FROM free_devices WHERE device_id = OLD.device_id;
            END IF;
            RETURN NULL;
        END $$
    """)
    op.execute("""
        CREATE TRIGGER free_devices_follow_devices AFTER INSERT OR DELETE ON devices
        FOR EACH ROW EXECUTE FUNCTION free_devices_follow_devices()
    """)


def _follow_tasks() -> None:
    op.execute("""
        CREATE FUNCTION free_devices_follow_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'DELETE' AND NEW.status IN ('assigned', 'dispatched') THEN
                DELETE FROM free_devices WHERE device_id = NEW.device_id;
            ELSE
                INSERT INTO free_devices SELECT device_id FROM devices WHERE device_id = OLD.device_id
                ON CONFLICT DO NOTHING;
            END IF;
            RETURN NULL;
        END $$
    """)
    for event, condition in (
        ("INSERT", HOLDS.format("NEW")),
        ("UPDATE OF status", f"({HOLDS.format('OLD')}) <> ({HOLDS.format('NEW')})"),
        ("DELETE", HOLDS.format("OLD")),
    ):
        op.execute(f"""
            CREATE TRIGGER free_devices_follow_tasks_{event.split()[0].lower()} AFTER {event} ON scheduled_tasks
            FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION free_devices_follow_tasks()
        """)


def downgrade() -> None:
    op.execute("DROP FUNCTION free_devices_follow_tasks, free_devices_follow_devices CASCADE")
    op.execute("DROP TABLE free_devices")
    op.execute("ALTER TABLE devices DROP COLUMN label_key")
    op.execute("ALTER TABLE hosts DROP COLUMN label_key")
