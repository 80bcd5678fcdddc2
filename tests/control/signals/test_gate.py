import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from control.signals.gate import DoorbellGate


@pytest.fixture
def gate(redis_url):
    gate = DoorbellGate(redis_url)
    yield gate
    gate.close()


def test_of_a_hundred_rings_at_once_one_is_admitted(gate):
    together = threading.Barrier(10)

    def ring(_: int) -> list[bool]:
        together.wait()
        return [gate.admit("assign_tasks") for _ in range(10)]

    with ThreadPoolExecutor(10) as pool:
        admitted = [one for answers in pool.map(ring, range(10)) for one in answers]
    assert admitted.count(True) == 1


def test_a_reopened_gate_admits_the_next_ring(gate):
    assert gate.admit("assign_tasks")
    gate.reopen("assign_tasks")
    assert gate.admit("assign_tasks")


def test_each_job_has_a_gate_of_its_own(gate):
    assert gate.admit("assign_tasks")
    assert gate.admit("settle_cancels")


def test_a_ring_that_got_lost_shuts_the_gate_for_its_time_only(redis_url):
    gate = DoorbellGate(redis_url, shut_ms=50)
    assert gate.admit("assign_tasks")
    deadline = time.monotonic() + 5
    while not gate.admit("assign_tasks"):
        assert time.monotonic() < deadline
    gate.close()


def test_the_gate_of_an_absent_server_says_so(absent_redis_url):
    gate = DoorbellGate(absent_redis_url)
    with pytest.raises(redis.ConnectionError):
        gate.admit("assign_tasks")
    gate.close()
