import time
from uuid import uuid4

import pytest
import redis
import structlog

from control.signals.client import listening_client
from control.signals.wakeups import RedisWakeups
from control.signals.words import CHANNEL


@pytest.fixture
def wakeups_at():
    opened: list[RedisWakeups] = []

    def wakeups_at(url: str) -> RedisWakeups:
        opened.append(RedisWakeups(url, lease_seconds=30))
        return opened[-1]

    yield wakeups_at
    for wakeups in opened:
        wakeups.close()


def test_a_wake_up_names_the_hosts_once_each(redis_url, wakeups_at):
    one, other = uuid4(), uuid4()
    with redis.Redis.from_url(redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(CHANNEL)
        assert listener.get_message(timeout=5) is None  # the confirmation
        wakeups_at(redis_url).wake_hosts([one, other, one])
        message = listener.get_message(timeout=5)
    assert set(message["data"].decode().split(" ")) == {f"work:{one}", f"work:{other}"}


def test_nobody_to_wake_is_no_message(absent_redis_url, wakeups_at):
    with structlog.testing.capture_logs() as logs:
        wakeups_at(absent_redis_url).wake_hosts([])
    assert logs == []


def test_a_silent_server_delays_the_first_wake_up_a_little_and_the_next_ones_not_at_all(silent_redis_url, wakeups_at):
    wakeups = wakeups_at(silent_redis_url)
    started_at = time.monotonic()
    for _ in range(100):
        wakeups.wake_hosts([uuid4()])
    assert time.monotonic() - started_at < 1


def test_an_absent_server_raises_nothing(absent_redis_url, wakeups_at):
    wakeups_at(absent_redis_url).wake_hosts([uuid4()])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_listener_hears_what_was_published(redis_url, wakeups_at, anyio_backend):
    host_id = uuid4()
    async with listening_client(redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as listener:
        await listener.subscribe(CHANNEL)
        await listener.get_message(timeout=5)
        wakeups_at(redis_url).wake_hosts([host_id])
        message = await listener.get_message(timeout=5)
    assert message["data"].decode() == f"work:{host_id}"
