"""The threads in which workers run jobs and take in tasks."""

from collections.abc import Callable
from typing import Any

import structlog
from celery.concurrency.thread import TaskPool  # pyright: ignore[reportMissingTypeStubs] - Celery has no types

log: structlog.stdlib.BoundLogger = structlog.get_logger()

_TaskPool: Any = TaskPool
#: As Celery tells of a task that has ended well: is it an error, what came out, and after how many seconds.
_OVER = (0, None, 0.0)


class ThreadPool(_TaskPool):
    """Celery's own, but a message whose work breaks Celery's code is done with.

    Celery forgets the error and never acknowledges the message: four of them, and the worker takes no more.
    """

    def on_apply(self, target: Callable[..., Any], *args: Any, **options: Any) -> Any:
        def work(*given: Any, **more: Any) -> Any:
            try:
                return target(*given, **more)
            except Exception as trouble:  # noqa: BLE001 - what a task itself raises, Celery has dealt with
                # Not the words of the error: they may repeat what is in the message.
                log.warning("message.dropped", error=type(trouble).__name__, task_id=repr(given[1:2])[:100])
                return _OVER

        celerys: Any = super()
        return celerys.on_apply(work, *args, **options)
