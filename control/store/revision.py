"""Which schema this code needs, and which one a database has. Those who only serve need no more of migrations."""

from pathlib import Path

import migrations
from control.store.database import Database


def head_revision() -> str:
    """The revision that this code needs: migrations stand in the order of their files' numbers."""
    files = (Path(migrations.__file__).parent / "versions").glob("[0-9]*.py")
    return max(file.name.partition("_")[0] for file in files)


def current_revision(database: Database) -> str | None:
    """The revision that the database is at; None where Corral never migrated it."""
    with database.transaction() as tx:
        if tx.value("SELECT to_regclass('alembic_version')") is None:
            return None
        row = tx.row("SELECT version_num FROM alembic_version")
    return row["version_num"] if row else None
