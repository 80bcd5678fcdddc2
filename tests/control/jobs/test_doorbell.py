import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import structlog
from kombu.exceptions import OperationalError

from control.jobs.doorbell import CeleryDoorbell
from control.operations.plane import Job
from corral.stack.valkey import EmbeddedValkey


@pytest.fixture
def doorbell_at():
    opened: list[CeleryDoorbell] = []

    def doorbell_at(url: str) -> CeleryDoorbell:
        opened.append(CeleryDoorbell(url))
        return opened[-1]

    yield doorbell_at
    for doorbell in opened:
        doorbell.close()


def messages(url: str) -> list[dict]:
    with redis.Redis.from_url(url) as client:
        return [json.loads(one) for one in client.lrange("jobs", 0, -1)]


def test_a_ring_is_one_message_that_names_the_job_and_expires(doorbell_at, redis_url):
    doorbell_at(redis_url).ring(Job.SETTLE_CANCELS)
    (message,) = messages(redis_url)
    assert message["headers"]["task"] == "corral.ring.settle_cancels"
    assert message["headers"]["ignore_result"] is True
    assert message["headers"]["expires"]


def test_a_hundred_rings_from_many_threads_are_one_message(doorbell_at, redis_url):
    doorbell = doorbell_at(redis_url)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: doorbell.ring(Job.ASSIGN_TASKS), range(100)))
    assert len(messages(redis_url)) == 1


@pytest.mark.parametrize("condition", ["silent_redis_url", "absent_redis_url"])
def test_without_redis_a_hundred_rings_take_less_than_a_second_and_raise_nothing(condition, doorbell_at, request):
    doorbell = doorbell_at(request.getfixturevalue(condition))
    with structlog.testing.capture_logs() as logs:
        started_at = time.monotonic()
        for _ in range(100):
            doorbell.ring(Job.ASSIGN_TASKS)
        assert time.monotonic() - started_at < 1
    assert [line["event"] for line in logs] == ["signals.unreachable"]


def test_many_threads_that_ring_at_a_silent_redis_do_not_wait_for_each_other(doorbell_at, silent_redis_url):
    doorbell = doorbell_at(silent_redis_url)
    together = threading.Barrier(20)

    def ring(_: int) -> float:
        together.wait()
        started_at = time.monotonic()
        doorbell.ring(Job.ASSIGN_TASKS)
        return time.monotonic() - started_at

    with ThreadPoolExecutor(20) as pool:
        assert max(pool.map(ring, range(20))) < 1


def test_a_redis_that_falls_silent_after_the_gate_is_bounded_too(doorbell_at, redis_url, silent_redis_url):
    doorbell, silent = doorbell_at(redis_url), doorbell_at(silent_redis_url)
    silent._gate, doorbell._gate = doorbell._gate, silent._gate
    started_at = time.monotonic()
    with pytest.raises(OperationalError):
        silent._ring(Job.ASSIGN_TASKS)
    assert time.monotonic() - started_at < 1


def test_rings_arrive_again_once_redis_is_back(doorbell_at, tmp_path, eventually):
    server = EmbeddedValkey(tmp_path / "valkey")
    server.start()
    try:
        doorbell = doorbell_at(server.url)
        doorbell.ring(Job.ASSIGN_TASKS)
        server.stop()
        doorbell.ring(Job.SETTLE_CANCELS)
        server.start()

        def has_arrived() -> bool:
            doorbell.ring(Job.SETTLE_CANCELS)
            return "corral.ring.settle_cancels" in {one["headers"]["task"] for one in messages(server.url)}

        eventually(has_arrived, within_seconds=5)
    finally:
        server.stop()
