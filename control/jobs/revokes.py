"""The remote control commands `revoke` and `terminate` of our workers: for device tasks they are durable cancels.

    revoke ─► worker ─┬─ device tasks, kept ids ─► cancel_revoked    Celery's own command never sees these ids
                      ├─ all other ids ──────────► Celery's own command
                      └─ Postgres is away ───────► remembered as Celery remembers them; a bridge finds them there

Celery's own command writes REVOKED as the result of every task that has not started. A device task is never started in
a worker, and whoever waits for its result would be told the end of a task that may run on for a while, or be done.
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast
from weakref import WeakKeyDictionary

import structlog
from celery.worker import control, state  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from sqlalchemy.exc import SQLAlchemyError

from control.jobs.celery_app import CeleryApp
from control.operations.plane import Plane
from control.operations.revokes import Revoked, cancel_revoked, task_id_in

log: structlog.stdlib.BoundLogger = structlog.get_logger()
celery_commands: Any = control
worker_state: Any = state

#: Ten thousand ids take a tenth of it.
LIMIT_SECONDS = 3.0

Reply = dict[str, Any]


class PanelRevokes:
    """Cancels for the workers of one process.

    Args:
        keeps_unknown: whether the front door is open, so that a revoked id may become a task later.
        limit_seconds: how long Postgres is waited for. The worker does nothing else meanwhile: it takes no message, and
            sends no heartbeat.
    """

    def __init__(self, plane: Plane, *, keeps_unknown: bool, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._plane = plane
        self._limit_seconds = limit_seconds
        self._keeps_unknown = keeps_unknown
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="revokes")
        self._running: Future[Revoked] | None = None

    def close(self) -> None:
        """Take no more; one that waits for Postgres may come to its end."""
        self._thread.shutdown(wait=False)

    def answer(self, panel: Any, task_id: Any, *, is_hard: bool, signal: str | None) -> Reply:
        """Do the command; answers as Celery's own does."""
        given = cast("list[Any]", task_id) if isinstance(task_id, list) else [task_id]
        ours, said = self._cancel(panel, {one for one in given if task_id_in(one)}, is_hard=is_hard)
        others = [one for one in given if one not in ours]
        if not others:
            return {"ok": said}
        answer: Reply = celery_commands.revoke(panel, others, terminate=is_hard, signal=signal)
        return {"ok": f"{said}; {answer['ok']}"} if ours and "ok" in answer else answer

    def _cancel(self, panel: Any, ids: set[str], *, is_hard: bool) -> tuple[set[str], str]:
        """Answers the ids that were dealt with, and what to say of them."""
        try:
            revoked = self._cancel_in_time(panel.hostname, ids, is_hard=is_hard) if ids else Revoked()
        except (SQLAlchemyError, TimeoutError) as error:
            log.warning("revokes.remembered", count=len(ids), error=f"{type(error).__name__}: {error}")
            _remember(panel, ids)
            return ids, f"the database does not answer, {len(ids)} ids flagged as revoked until it does"
        if revoked.cancelled or revoked.kept:
            log.info("revokes.heard", cancelled=len(revoked.cancelled), kept=len(revoked.kept))
        ours = {one for one in ids if one not in revoked.unknown}
        return ours, f"device tasks {', '.join(sorted(ours)) or 'none'} cancelled"

    def _cancel_in_time(self, hostname: str, ids: Iterable[str], *, is_hard: bool) -> Revoked:
        if self._running is not None and not self._running.done():
            raise TimeoutError("the revoke before is still waiting for Postgres")
        self._running = self._thread.submit(
            cancel_revoked,
            self._plane,
            ids,
            actor=f"celery:{hostname}",
            keeps_unknown=self._keeps_unknown,
            is_hard=is_hard,
        )
        return self._running.result(self._limit_seconds)


#: Celery has one panel of commands for all workers of a process, whatever their application.
_revokes: WeakKeyDictionary[CeleryApp, PanelRevokes] = WeakKeyDictionary()


def register_revokes(app: CeleryApp, revokes: PanelRevokes) -> None:
    """Have the workers of this application answer `revoke` and `terminate` so; others stay as they are."""
    _revokes[app] = revokes
    command = celery_commands.control_command
    command(name="revoke", variadic="task_id", signature="[id1 [id2 [... [idN]]]]")(_revoke)
    command(name="terminate", variadic="task_id", args=[("signal", str)], signature="<signal> [id1 [id2 [... [idN]]]]")(
        _terminate
    )


def _revoke(state: Any, task_id: Any, terminate: bool = False, signal: str | None = None, **kwargs: Any) -> Reply:  # noqa: FBT001, FBT002 - Celery's own signature
    """Revoke task by task id (or list of ids)."""
    revokes = _revokes.get(state.app)
    if revokes is None:
        return celery_commands.revoke(state, task_id, terminate=terminate, signal=signal, **kwargs)
    return revokes.answer(state, task_id, is_hard=bool(terminate), signal=signal)


def _terminate(state: Any, signal: str, task_id: Any, **kwargs: Any) -> Reply:
    """Terminate task by task id (or list of ids)."""
    return _revoke(state, task_id, terminate=True, signal=signal, **kwargs)


def _remember(panel: Any, ids: Iterable[str]) -> None:
    worker_state.revoked.update(ids)
    # Celery saves them when the worker ends, which a killed one does not come to.
    persistence = getattr(panel.consumer.controller, "_persistence", None)
    if persistence is not None:
        persistence.sync()
