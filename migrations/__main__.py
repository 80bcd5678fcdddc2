"""`python -m migrations "what changes"`: writes the next migration, from what the tables have and the schema lacks.

It compares with a throw-away Postgres that the present migrations have built. What it writes is a draft: read it, and
make it additive.
"""

import re
import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

import migrations
from control.store.database import psycopg_url
from control.store.revision import head_revision
from control.store.schema import migrate
from corral.stack.postgres import EmbeddedPostgres

_FOLDER = Path(migrations.__file__).parent


def main(title: str) -> None:
    number = f"{int(head_revision()) + 1:04}"
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    with tempfile.TemporaryDirectory(prefix="corral-migration-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()
        try:
            migrate(server.url())
            with create_engine(psycopg_url(server.url())).connect() as connection:
                config = Config()
                config.set_main_option("script_location", str(_FOLDER))
                config.set_main_option("file_template", f"{number}_{slug}")
                config.attributes["connection"] = connection
                command.revision(config, message=title, rev_id=number, autogenerate=True)
        finally:
            server.stop()
    sys.stdout.write(f"{_FOLDER / 'versions' / f'{number}_{slug}.py'}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].strip():  # noqa: PLR2004 - the program and the title
        sys.exit('say what changes: make migration NAME="add priorities"')
    main(sys.argv[1])
