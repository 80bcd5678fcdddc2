"""How long a process keeps rows locked: from the first write of a transaction until its connection is given back."""

import re
import time
from typing import Any

from sqlalchemy import event

from control.store.database import Database

_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")
_SINCE = "bench_locked_since"


class RowLocks:
    """Watches all connections of a database."""

    def __init__(self, database: Database) -> None:
        self.longest_seconds = 0.0
        event.listen(database._engine, "before_cursor_execute", self._executing)
        event.listen(database._engine, "checkin", self._given_back)

    def _executing(self, connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if _WRITES.search(statement):
            connection.info.setdefault(_SINCE, time.monotonic())

    def _given_back(self, _connection: Any, record: Any) -> None:
        since = record.info.pop(_SINCE, None)
        if since is not None:
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - since)
