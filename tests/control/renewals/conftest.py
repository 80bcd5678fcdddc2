from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from control.operations.plane import Plane
from control.signals.wakeups import RedisWakeups
from tests.control.redis_conditions import redis_url
from tests.control.renewals.processes import signalling

__all__ = ["redis_url"]

PlaneAt: TypeAlias = Callable[..., Plane]


@pytest.fixture
def plane_at(plane: Plane) -> Iterator[PlaneAt]:
    """Makes planes whose signals go over a server: `plane_at(url, lease_seconds=…)`."""
    made: list[Plane] = []

    def plane_at(url: str, **more: float) -> Plane:
        made.append(signalling(plane, url, **more))
        return made[-1]

    yield plane_at
    for one in made:
        assert isinstance(one.wakeups, RedisWakeups)
        one.wakeups.close()
