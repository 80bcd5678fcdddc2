"""Those who look on while an agent works."""

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

NewsT = TypeVar("NewsT")


class Listeners(Generic[NewsT]):
    """They are told at once, in the order in which they came. A listener's defect is logged, and nobody else's."""

    def __init__(self, agent_name: str) -> None:
        self._agent_name = agent_name
        self._listeners: list[Callable[[NewsT], None]] = []

    def add(self, listener: Callable[[NewsT], None]) -> None:
        self._listeners.append(listener)

    def tell(self, news: NewsT) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(news)
            except Exception:
                log.exception("agent.listener_failed", agent=self._agent_name)
