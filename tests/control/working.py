"""A worker of Celery in a thread of the test's process."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from celery._state import _set_task_join_will_block
from celery.worker import WorkController, state
from kombu import pools

from control.jobs.celery_app import CeleryApp


@contextmanager
def working(app: CeleryApp, options: Mapping[str, Any]) -> Iterator[WorkController]:
    """A worker of this application, which is ready, while the block runs."""
    is_ready = threading.Event()
    worker = WorkController(app=app, ready_callback=lambda _: is_ready.set(), **options)
    thread = threading.Thread(target=worker.start)
    thread.start()
    try:
        assert is_ready.wait(10)
        yield worker
    finally:
        state.should_stop = 0
        app.control.shutdown()  # It wakes the loop, which then sees that it should stop.
        thread.join(20)
        assert not thread.is_alive()
        # The worker forbade its process to wait for results, and leaves it so.
        _set_task_join_will_block(False)
        state.should_stop = None


def forget_closed_pools() -> None:
    """Kombu's pools are shared by all applications of a process with one address: the next one is to get others."""
    for group in (pools.producers, pools.connections):
        for address, pool in list(group.items()):
            # A pool of producers stands on one of connections, and is of no use without it.
            if pool._closed or getattr(pool, "connections", pool)._closed:
                dict.pop(group, address)  # it has only its hash for a key
