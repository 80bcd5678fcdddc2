"""Whoever listens to Celery's events as Flower does: with Celery's own receiver, and its own picture of the cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from celery import Celery
from celery.events import EventReceiver
from celery.events.state import State

from control.flower.stream import EventStream


class Consumer:
    def __init__(self, redis_url: str) -> None:
        self.app = Celery("flower", broker=redis_url, set_as_current=False)
        self.state = State()
        self.heard: list[dict[str, Any]] = []
        self.connection = self.app.connection()
        self.receiver = EventReceiver(self.connection, handlers={"*": self._hear}, app=self.app)
        self._queue = self.connection.Consumer([self.receiver.queue], callbacks=[self.receiver._receive], no_ack=True)
        self._queue.consume()

    def _hear(self, event: dict[str, Any]) -> None:
        if event["hostname"] == "probe":
            self._is_probed = True
            return
        self.heard.append(dict(event))
        self.state.event(event)

    def until(self, condition: Callable[[], object], *, within_seconds: float = 10.0) -> None:
        deadline = time.monotonic() + within_seconds
        while not condition():
            assert time.monotonic() < deadline, [(event["type"], event["hostname"]) for event in self.heard]
            with suppress(TimeoutError):
                self.connection.drain_events(timeout=0.02)

    def until_subscribed(self, stream: EventStream) -> None:
        """Until events reach it: subscribing takes a moment."""
        self._is_probed = False

        def is_heard() -> bool:
            stream.publish([{"type": "worker-heartbeat", "hostname": "probe", "timestamp": 1.0}])
            return self._is_probed

        self.until(is_heard)

    def told_of(self, task_id: object) -> list[tuple[str, str]]:
        """What was said of a task, in order: the event, and the worker under whose name it came."""
        return [
            (event["type"].removeprefix("task-"), event["hostname"])
            for event in self.heard
            if event.get("uuid") == str(task_id)
        ]

    def states(self) -> dict[str, str]:
        return {task_id: task.state for task_id, task in self.state.tasks.items()}

    def online(self) -> set[str]:
        return {worker.hostname for worker in self.state.alive_workers()}


@contextmanager
def consuming(redis_url: str, stream: EventStream) -> Iterator[Consumer]:
    consumer = Consumer(redis_url)
    try:
        consumer.until_subscribed(stream)
        yield consumer
    finally:
        consumer.connection.release()
        consumer.app.close()
