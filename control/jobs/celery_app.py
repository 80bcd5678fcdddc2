"""Celery, with the settings that decide whether it survives a broker that dies, restarts or falls silent."""

import ssl
from collections.abc import Sequence
from typing import Any, TypeAlias

from celery import Celery  # pyright: ignore[reportMissingTypeStubs] - Celery has no types
from kombu.entity import Exchange, Queue

from control.jobs.schedule import JobQueue, ScheduledJob, sweep_name
from control.signals.client import redis_url as checked_redis_url

#: Longer than any job: a job that outlives it would be handed to a second worker while the first still runs it.
VISIBILITY_SECONDS = 300
#: Celery's default is to wait for ever, and a half-open connection then stops a worker without a word.
SOCKET_LIMIT_SECONDS = 10.0
CONNECT_LIMIT_SECONDS = 5.0
HEALTH_CHECK_SECONDS = 10
RESULT_LIMIT_SECONDS = 8.0
RESULT_DAYS = 7

#: Celery has no types: what is made here is spelled like this everywhere else.
CeleryApp: TypeAlias = Any


def celery_app(
    redis_url: str,
    *,
    jobs: Sequence[ScheduledJob] = (),
    socket_limit_seconds: float = SOCKET_LIMIT_SECONDS,
    connect_limit_seconds: float = CONNECT_LIMIT_SECONDS,
    connect_retries: int | None = None,
) -> CeleryApp:
    """A Celery application for workers (which register the jobs), for beat (which ticks them) or for the doorbell.

    Args:
        redis_url: the broker, as `control.signals.client.redis_url` understands it.
        jobs: what beat ticks.
        socket_limit_seconds: how long a silent broker is waited for.
        connect_limit_seconds: the same for a new connection.
        connect_retries: how often a connection is tried again before an error; None is for ever, which suits a worker.

    Raises:
        UnusableRedisUrl: the address names no single Redis.
    """
    url = checked_redis_url(redis_url)
    app: CeleryApp = Celery("corral", broker=url, backend=url, set_as_current=False)
    transport: dict[str, Any] = {
        "socket_timeout": socket_limit_seconds,
        "socket_connect_timeout": connect_limit_seconds,
        "socket_keepalive": True,
        "health_check_interval": HEALTH_CHECK_SECONDS,
        "visibility_timeout": VISIBILITY_SECONDS,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
    }
    if connect_retries is not None:
        transport["max_retries"] = connect_retries
    app.conf.update(
        _SETTINGS,
        broker_transport_options=transport,
        task_queues=[_queue(queue) for queue in JobQueue],
        beat_schedule=_beat_schedule(jobs),
        **_encryption(url),
    )
    return app


def _queue(queue: JobQueue) -> Queue:
    # Its own routing key: with the default one, every queue would get every message.
    return Queue(queue.value, Exchange("corral", type="direct"), routing_key=queue.value)


def _beat_schedule(jobs: Sequence[ScheduledJob]) -> dict[str, Any]:
    return {
        job.name: {
            "task": sweep_name(job.name),
            "schedule": job.period_seconds,
            "options": {"queue": job.queue.value, "expires": job.expires_seconds, "ignore_result": True},
        }
        for job in jobs
    }


def _encryption(url: str) -> dict[str, Any]:
    if not url.startswith("rediss://"):
        return {}
    # Left to itself, the broker connection would be encrypted and take any certificate.
    checked = {"ssl_cert_reqs": ssl.CERT_REQUIRED}
    return {"broker_use_ssl": checked, "redis_backend_use_ssl": checked}


_SETTINGS: dict[str, Any] = {
    "enable_utc": True,
    "timezone": "UTC",
    "accept_content": ["json"],
    "task_serializer": "json",
    "result_serializer": "json",
    "event_serializer": "json",
    "task_default_queue": JobQueue.JOBS.value,
    # A queue that nobody declared is a typing mistake, and its messages would lie there for ever.
    "task_create_missing_queues": False,
    # A job is acknowledged when it has run: one whose worker was killed comes back, and every job may run twice.
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    "task_ignore_result": True,
    "worker_prefetch_multiplier": 1,
    # Operations wait for Postgres; threads share one pool of connections, and nothing crosses a fork.
    "worker_pool": "threads",
    # Named, for only workers need it.
    "worker_consumer": "control.jobs.consumer:MessageConsumer",
    "worker_send_task_events": True,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_retry": True,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "beat_scheduler": "celery.beat:Scheduler",
    "result_extended": True,
    "result_expires": RESULT_DAYS * 24 * 3600,
    "result_backend_always_retry": True,
    "result_backend_max_retries": 10,
    "redis_socket_timeout": RESULT_LIMIT_SECONDS,
    "redis_socket_connect_timeout": CONNECT_LIMIT_SECONDS,
    "redis_socket_keepalive": True,
    "redis_backend_health_check_interval": HEALTH_CHECK_SECONDS,
}
