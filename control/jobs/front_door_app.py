"""The queue of the front door, and the Celery application that answers those who send to it."""

from typing import Any

from kombu.entity import Exchange, Queue
from kombu.pools import ProducerPool

from control.jobs.celery_app import CeleryApp, celery_app
from control.jobs.schedule import JobQueue

#: The name under which a client sends a task.
TASK_NAME = "corral.run"
#: What is told is told within a transaction, or by a loop with other duties; both try again by themselves.
TELL_LIMIT_SECONDS = 3.0
_FEW_TRIES: dict[str, Any] = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}


class UnusableQueue(ValueError):
    """The front door needs a queue of its own: `jobs` and `reap` are Corral's."""


def front_door_queue(name: str) -> Queue:
    """The queue as a client's Celery declares it for this name.

    Raises:
        UnusableQueue: the name is that of a queue of jobs.
    """
    if name in set(JobQueue):
        raise UnusableQueue(f"the front door cannot have the queue '{name}', where Corral's own jobs are; name another")
    return Queue(name, Exchange(name, type="direct"), routing_key=name)


def front_door_app(redis_url: str, *, queue: str) -> CeleryApp:
    """Stores results and sends callbacks and next steps: to the queues that they name, else to this one.

    Raises:
        UnusableRedisUrl: the address names no single Redis.
        UnusableQueue: the name is that of a queue of jobs.
    """
    app = celery_app(
        redis_url,
        socket_limit_seconds=TELL_LIMIT_SECONDS,
        connect_limit_seconds=TELL_LIMIT_SECONDS,
        connect_retries=0,
    )
    app.conf.update(
        task_queues=[front_door_queue(queue)],
        task_default_queue=queue,
        task_default_exchange=queue,
        task_default_routing_key=queue,
        # Callbacks go to workers that only their sender knows.
        task_create_missing_queues=True,
        task_publish_retry_policy=_FEW_TRIES,
        # Arguments are flows, with what is typed into phones: they do not belong into results.
        result_extended=False,
        result_backend_always_retry=False,
        # One for all threads, which can then be closed.
        result_backend_thread_safe=True,
        result_backend_transport_options={"retry_policy": _FEW_TRIES},
        redis_socket_timeout=TELL_LIMIT_SECONDS,
        redis_socket_connect_timeout=TELL_LIMIT_SECONDS,
    )
    _give_pools_of_its_own(app)
    # Celery's own tasks, which groups and chords are made of; without this the first use in a thread registers them.
    app.finalize()
    # Left to itself, it would subscribe to the results of what it sends, and nobody here waits for one.
    app.backend.result_consumer.consume_from = _expect_nothing
    return app


def _expect_nothing(_task_id: str) -> None:
    """Called for each message that is sent, and each member of a group."""


def _give_pools_of_its_own(app: CeleryApp) -> None:
    # Kombu's are shared by all applications of a process with one address: closed by one, they are closed for all.
    pool = app.connection_for_write().Pool(limit=app.conf.broker_pool_limit)
    app._pool, app.amqp._producer_pool = pool, ProducerPool(pool, limit=pool.limit)  # noqa: SLF001 - no other way in


def close_front_door_app(app: CeleryApp) -> None:
    """Give back its connections."""
    app.amqp.producer_pool.force_close_all()
    app.pool.force_close_all()
    app.close()
    app.backend.client.connection_pool.disconnect()
