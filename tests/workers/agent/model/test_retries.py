"""A failed attempt, and the next."""

import asyncio
from dataclasses import replace

import pytest

from tests.workers.agent.model.conftest import REQUEST, benched
from tests.workers.agent.model.fake_provider import Exchange, fails, says
from workers.agent.cancellation import USER
from workers.agent.messages import TextPart
from workers.agent.model.failures import Failure
from workers.agent.model.interface import ModelErrorCode, ModelFailed, Usage
from workers.agent.model.retries import MAX_WAIT_SECONDS, Retries
from workers.clock import boot_seconds

pytestmark = pytest.mark.anyio

BUSY = {"error": {"message": "slow down"}}


async def breaks_off(exchange: Exchange) -> None:
    await exchange.chat({"content": "Wrong."}, finish=None)


async def test_the_text_of_a_failed_attempt_is_not_in_the_answer():
    async with benched(breaks_off, says("Right.")) as bench:
        answer = await bench.ask()
    assert answer.message.parts == (TextPart(text="Right."),)
    assert bench.heard == ["Wrong.", "(restart)", "Right."]


async def test_an_attempt_of_which_nothing_was_heard_restarts_nothing():
    async with benched(fails(500), says("Right.")) as bench:
        await bench.ask()
    assert bench.heard == ["Right."]


async def test_the_wait_that_a_provider_asks_for_is_kept():
    async with benched(fails(429, BUSY, retry_after_ms="150"), says("Yes.")) as bench:
        started = boot_seconds()
        answer = await bench.ask()
        assert boot_seconds() - started >= 0.15
    assert answer.message.text == "Yes."


async def test_a_wait_that_does_not_fit_into_the_time_left_fails_at_once():
    async with benched(fails(429, BUSY, retry_after="90")) as bench:
        with pytest.raises(ModelFailed, match="HTTP 429: slow down; the provider wants 90 seconds") as failed:
            await bench.ask(replace(REQUEST, deadline_at=boot_seconds() + 30))
    assert failed.value.code == ModelErrorCode.RATE_LIMITED
    assert len(bench.provider.exchanges) == 1


async def test_the_signal_ends_the_wait_between_two_attempts():
    async with benched(fails(429, BUSY, retry_after="90"), says("never")) as bench:
        asking = asyncio.create_task(bench.ask())
        async with asyncio.timeout(10):
            await bench.provider.asked.wait()
            await bench.provider.exchanges[0].closed.wait()
        bench.turn.abort(USER)
        async with asyncio.timeout(10):
            answer = await asking
    assert answer.message.is_interrupted
    assert answer.message.parts == ()
    assert len(bench.provider.exchanges) == 1


async def test_a_signal_at_the_restart_means_no_further_request():
    async with benched(breaks_off, says("never")) as bench:
        answer = await bench.ask(on_delta=lambda delta: delta.is_restart and bench.turn.abort(USER))
    assert answer.message.is_interrupted
    assert answer.message.parts == ()
    assert len(bench.provider.exchanges) == 1
    assert bench.heard == ["Wrong.", "(restart)"]


async def test_usage_is_that_of_all_attempts():
    async with benched(says(), says("Yes.")) as bench:
        answer = await bench.ask()
    assert answer.usage == Usage(14, 6)


async def test_the_last_failure_says_how_often_it_was_tried():
    async with benched(fails(500, BUSY)) as bench:
        with pytest.raises(ModelFailed, match=r"HTTP 500: slow down \(attempt 4 of 4\)"):
            await bench.ask()


def test_waits_double_and_spread():
    failure = Failure(ModelErrorCode.UNAVAILABLE, "", can_retry=True)
    for attempt, middle in ((1, 1), (2, 2), (3, 4)):
        waits = {Retries().wait_seconds(failure, attempt, seconds_left=None) for _ in range(20)}
        assert len(waits) > 1
        assert all(wait is not None and middle / 2 <= wait <= middle * 1.5 for wait in waits)
    assert Retries().wait_seconds(failure, 4, seconds_left=None) is None
    assert Retries().wait_seconds(failure, 3, seconds_left=0.1) is None


def test_without_a_deadline_nobody_waits_for_an_hour():
    failure = Failure(ModelErrorCode.RATE_LIMITED, "", can_retry=True, retry_after_seconds=MAX_WAIT_SECONDS + 1)
    assert Retries().wait_seconds(failure, 1, seconds_left=None) is None
    assert Retries().wait_seconds(failure, 1, seconds_left=3600) == MAX_WAIT_SECONDS + 1
