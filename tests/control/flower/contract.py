"""For tests of interfaces of Celery, kombu and Flower that none of them documents: who would be hurt by a change."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from kombu import Consumer

P = ParamSpec("P")
T = TypeVar("T")


def needed_by(*modules: str, so_that: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a test that fails say which modules of Corral rest on what it checks, and what for."""
    note = f"An interface that nobody documents has changed. {', '.join(modules)} rests on it, so that {so_that}."

    def decorate(test: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(test)
        def run(*arguments: P.args, **keywords: P.kwargs) -> T:
            try:
                return test(*arguments, **keywords)
            except Exception as trouble:
                trouble.add_note(note)
                raise

        return run

    return decorate


@contextmanager
def overheard(app: Any, queue: Any) -> Iterator[Callable[[], Any]]:
    """Whatever is sent to a queue while the block runs: a function that answers the next body."""
    heard: list[Any] = []
    with app.connection() as connection:
        consumer = Consumer(connection.channel(), [queue], callbacks=[lambda body, _: heard.append(body)], no_ack=True)
        consumer.consume()
        # Ends when Redis has confirmed the subscription.
        connection.drain_events(timeout=5)

        def next_body() -> Any:
            while not heard:
                connection.drain_events(timeout=5)
            return heard.pop(0)

        yield next_body
        consumer.cancel()
