"""The process between Postgres and Celery's tools: what `corral bridge` starts.

    main thread   seek the lead ─► as the leader: events, heartbeats, snapshots, results, reconciling
    listener      revokes (every replica), inspect (the leader)
    watchdog      ends the process where one of the two is silent for too long

Two or more may run: one leads, and another takes over within a second of its end.
"""

import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import structlog

from control.flower.leader import Leader
from control.flower.leadership import Leadership
from control.flower.listener import PidboxListener
from control.flower.snapshot import Requests
from control.flower.stream import EventStream
from control.flower.watchdog import Watchdog
from control.jobs.celery_app import CeleryApp, celery_app
from control.jobs.front_door_app import front_door_app
from control.jobs.logs import keep_celery_off_the_logs
from control.jobs.plane import open_plane
from control.operations.plane import Plane, Timing
from control.store.job_runs import Lock
from control.store.leadership import SessionLock

log = structlog.get_logger()

#: The leader's loop, the listener, and one to spare.
CONNECTIONS = 4
#: How soon what was committed is told.
ROUND_SECONDS = 0.1
LISTENER_STOP_SECONDS = 10.0
PROBE_LIMIT_SECONDS = 3.0


def run_bridge(
    *,
    database_url: str,
    redis_url: str,
    artifacts_folder: Path,
    timing: Timing,
    celery_queue: str,
    is_front_door_open: bool,
    name: str = "bridge",
) -> int:
    """Be a bridge until SIGTERM or SIGINT; answers the exit code. The watchdog ends the process with 1.

    Call it in the main thread, with logging configured. `name` is what stands before the `@` among Celery's workers.

    Raises:
        UnusableRedisUrl: the address names no single Redis.
        UnusableQueue: the queue of the front door is one of the jobs.
    """
    nodename = f"{name}@{socket.gethostname()}"
    keep_celery_off_the_logs()
    plane = open_plane(
        database_url=database_url,
        redis_url=redis_url,
        artifacts_folder=artifacts_folder,
        timing=timing,
        pool_size=CONNECTIONS,
        application_name=f"corral {name}",
    )
    leadership = Leadership(SessionLock(database_url, Lock.LEAD_BRIDGE, application_name=f"corral {name} lead"))
    bridge = Bridge(
        plane,
        leadership,
        redis_url=redis_url,
        name=nodename,
        celery_queue=celery_queue,
        is_front_door_open=is_front_door_open,
    )
    try:
        with _asked_to_stop() as is_asked_within:
            bridge.run(is_asked_within)
    finally:
        plane.database.close()
    return 0


class Bridge:
    """One replica."""

    def __init__(
        self,
        plane: Plane,
        leadership: Leadership,
        *,
        redis_url: str,
        name: str,
        celery_queue: str,
        is_front_door_open: bool,
    ) -> None:
        self._name = name
        self._leadership = leadership
        self._app: CeleryApp = celery_app(redis_url)
        self._probe: CeleryApp = celery_app(
            redis_url,
            socket_limit_seconds=PROBE_LIMIT_SECONDS,
            connect_limit_seconds=PROBE_LIMIT_SECONDS,
            connect_retries=0,
        )
        requests = Requests()
        self._leader = Leader(
            plane,
            leadership,
            EventStream(redis_url),
            requests,
            app=self._app,
            results_app=front_door_app(redis_url, queue=celery_queue) if is_front_door_open else None,
        )
        self._listener = PidboxListener(
            self._app,
            plane,
            is_leader=lambda: leadership.is_held,
            name=name,
            keeps_unknown=is_front_door_open,
            on_flower=requests.ask,
        )
        self._worked_at = time.monotonic()

    def run(self, is_asked_within: Callable[[float], bool]) -> None:
        """Work until `is_asked_within(seconds)` says so, which waits for so long at most."""
        stop = threading.Event()
        watchdog = Watchdog(
            heard_at=lambda: self._listener.heard_at,
            worked_at=lambda: self._worked_at,
            redis_answers=self._redis_answers,
        )
        listening = threading.Thread(target=self._listener.run, args=(stop,), name="listener", daemon=True)
        watching = threading.Thread(target=watchdog.run, args=(stop,), name="watchdog", daemon=True)
        log.info("bridge.started", bridge=self._name)
        listening.start()
        watching.start()
        try:
            while not is_asked_within(ROUND_SECONDS):
                self._worked_at = time.monotonic()
                self._leader.go_round()
        finally:
            stop.set()
            self._leader.stop()
            listening.join(LISTENER_STOP_SECONDS)
            watching.join()
            self._app.close()
            log.info("bridge.stopped", bridge=self._name)

    def _redis_answers(self) -> bool:
        try:
            with self._probe.connection_for_write() as connection:
                connection.default_channel.client.ping()
        except Exception:  # noqa: BLE001 - whatever it is, Redis did not answer
            return False
        return True


@contextmanager
def _asked_to_stop() -> Generator[Callable[[float], bool]]:
    # A queue and no event: its `put` may come in the middle of its own `get`, as signals do.
    asked: queue.SimpleQueue[int] = queue.SimpleQueue()
    before = {
        number: signal.signal(number, lambda got, _frame: asked.put(got)) for number in (signal.SIGTERM, signal.SIGINT)
    }

    def is_asked_within(seconds: float) -> bool:
        try:
            asked.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    try:
        yield is_asked_within
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
