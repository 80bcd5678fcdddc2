"""Finds the revokes that no bridge heard, in the memory of the workers that did."""

from typing import Any, cast

import structlog
from kombu.exceptions import OperationalError  # pyright: ignore[reportMissingTypeStubs] - kombu has no types

from control.jobs.celery_app import CeleryApp
from control.operations.plane import Plane
from control.operations.revokes import cancel_revoked

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ACTOR = "celery:reconciliation"
#: Workers take any argument of `inspect revoked`, and a bridge that is asked with this one has nothing to say.
ASKED_BY = "asked_by"
ASKS = {ASKED_BY: "corral"}
#: How long workers have for an answer, of which they need a hundredth.
ANSWER_SECONDS = 0.5


def reconcile_revokes(app: CeleryApp, plane: Plane, *, keeps_unknown: bool) -> int:
    """Cancel every device task that some worker of Celery remembers as revoked; answers how many had no cancel yet.

    Takes half a second, for nobody knows how many workers there are.

    Raises:
        kombu.exceptions.OperationalError: Redis does not answer.
    """
    revoked = cancel_revoked(
        plane, _remembered(app), actor=ACTOR, reason="revoked in Celery", keeps_unknown=keeps_unknown
    )
    if revoked.cancelled:
        log.info("revokes.found", cancelled=len(revoked.cancelled))
    return len(revoked.cancelled)


def _remembered(app: CeleryApp) -> set[str]:
    return {
        task_id
        for reply in _ask(app)
        for task_ids in reply.values()
        if isinstance(task_ids, list)
        for task_id in cast("list[Any]", task_ids)
        if isinstance(task_id, str)
    }


def _ask(app: CeleryApp) -> list[dict[str, Any]]:
    try:
        return _ask_once(app)
    except OperationalError:
        # The first use of a pooled connection finds out that Redis was restarted.
        return _ask_once(app)


def _ask_once(app: CeleryApp) -> list[dict[str, Any]]:
    return app.control.broadcast("revoked", arguments=ASKS, reply=True, timeout=ANSWER_SECONDS) or []
