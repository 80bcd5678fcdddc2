"""Keeps Celery out of the logging that the entry point has configured."""

import logging
from typing import Any

from celery import signals  # pyright: ignore[reportMissingTypeStubs] - Celery has no types

#: They tell of every message at least twice a second; `job.ran` and `job.failed` say it once, and shorter. After an
#: outage, each tick that has expired would be called a revoked task.
_TALKATIVE = {
    "celery.worker.strategy": "WARNING",
    "celery.worker.request": "WARNING",
    "celery.beat": "WARNING",
    "celery.app.trace": "CRITICAL",
}

_setup_logging: Any = signals.setup_logging


def keep_celery_off_the_logs() -> None:
    """Leave logging as it was configured, where Celery would set up its own; quieten what says too much."""
    _setup_logging.connect(_leave_as_it_is, dispatch_uid="corral")
    for name, level in _TALKATIVE.items():
        logging.getLogger(name).setLevel(level)


def _leave_as_it_is(**_: Any) -> None:
    """Celery sets up nothing once somebody listens to this signal."""
