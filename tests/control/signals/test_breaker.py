import threading

import pytest
import structlog
from prometheus_client import REGISTRY

from control.signals.breaker import Breaker


class Redis:
    """Somebody who answers or does not, and counts who asked."""

    def __init__(self) -> None:
        self.is_away = False
        self.asked = 0

    def ask(self) -> str:
        self.asked += 1
        if self.is_away:
            raise ConnectionError("nobody there")
        return "answer"


@pytest.fixture
def far_side() -> Redis:
    return Redis()


def test_after_a_failure_nobody_is_asked_for_a_while(far_side):
    breaker = Breaker("test", rest_seconds=60)
    far_side.is_away = True
    answers = [breaker.attempt(far_side.ask, otherwise="nothing") for _ in range(50)]
    assert answers == ["nothing"] * 50
    assert far_side.asked == 1


def test_what_failed_and_what_was_not_tried_are_counted(far_side):
    breaker = Breaker("counted", rest_seconds=60)
    breaker.attempt(far_side.ask, otherwise=None)
    sender = {"sender": "counted"}
    assert REGISTRY.get_sample_value("corral_signals_failures_total", sender) == 0
    far_side.is_away = True
    for _ in range(3):
        breaker.attempt(far_side.ask, otherwise=None)
    assert REGISTRY.get_sample_value("corral_signals_failures_total", sender) == 3


def test_after_the_rest_the_next_attempt_is_made_and_closes_the_outage(far_side):
    breaker = Breaker("test", rest_seconds=0)
    far_side.is_away = True
    breaker.attempt(far_side.ask, otherwise="nothing")
    far_side.is_away = False
    assert breaker.attempt(far_side.ask, otherwise="nothing") == "answer"


def test_an_outage_is_logged_once_at_its_start_and_once_at_its_end(far_side):
    breaker = Breaker("test", rest_seconds=0)
    with structlog.testing.capture_logs() as logs:
        far_side.is_away = True
        for _ in range(5):
            breaker.attempt(far_side.ask, otherwise=None)
        far_side.is_away = False
        for _ in range(5):
            breaker.attempt(far_side.ask, otherwise=None)
    assert [line["event"] for line in logs] == ["signals.unreachable", "signals.reachable_again"]


def test_after_the_rest_one_probes_and_the_others_go_on_without(far_side):
    breaker = Breaker("test", rest_seconds=0.02)
    far_side.is_away = True
    breaker.attempt(far_side.ask, otherwise=None)
    is_probing, may_answer = threading.Event(), threading.Event()

    def probe() -> str:
        is_probing.set()
        assert may_answer.wait(10)
        return "answer"

    while not is_probing.is_set():
        thread = threading.Thread(target=lambda: breaker.attempt(probe, otherwise=None))
        thread.start()
        is_probing.wait(0.05)
    breaker._rests_until += 60
    assert breaker.attempt(far_side.ask, otherwise="nothing") == "nothing"
    may_answer.set()
    thread.join()
    far_side.is_away = False
    assert breaker.attempt(far_side.ask, otherwise="nothing") == "answer"
