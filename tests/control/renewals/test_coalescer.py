"""What arrives while a batch is at work is the next batch, in the order in which it came."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from control.domain.errors import NotReady
from control.renewals.coalescer import Coalescer
from tests.control.renewals.stories import played, until


class Bench:
    """Works on batches, each when it is let; a question that says so fails its batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.is_let = threading.Semaphore(0)

    def work(self, batch: list[str]) -> list[str]:
        self.batches.append(batch)
        assert self.is_let.acquire(timeout=10)
        if "fail" in batch:
            raise RuntimeError("as ordered")
        return [question.upper() for question in batch]

    def let(self, batches: int = 1_000) -> None:
        self.is_let.release(batches)


@asynccontextmanager
async def coalescing(
    bench: Bench, *, max_batch: int = 10, max_waiting: int = 100
) -> AsyncIterator[Coalescer[str, str]]:
    coalescer = Coalescer[str, str](bench.work, name="test", max_batch=max_batch, max_waiting=max_waiting)
    try:
        yield coalescer
    finally:
        bench.let()
        await coalescer.close()


def test_one_who_is_alone_is_served_at_once() -> None:
    async def story() -> None:
        bench = Bench()
        bench.let()
        async with coalescing(bench) as coalescer:
            assert await coalescer.ask("a") == "A"
            assert await coalescer.ask("b") == "B"
        assert bench.batches == [["a"], ["b"]]

    played(story)


def test_what_arrives_while_a_batch_is_at_work_is_the_next_batch() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench) as coalescer:
            asked = [coalescer.ask(question) for question in "abcd"]
            await until(lambda: bench.batches)
            bench.let()
            assert await asyncio.gather(*asked) == ["A", "B", "C", "D"]
        assert bench.batches == [["a"], ["b", "c", "d"]]

    played(story)


def test_the_first_to_come_is_the_first_to_be_served_and_a_large_question_keeps_nobody_for_long() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench, max_batch=4) as coalescer:
            asked = [
                coalescer.ask("first"),
                coalescer.ask("small"),
                coalescer.ask("large", size=4),
                coalescer.ask("huge", size=9),
                coalescer.ask("late"),
            ]
            bench.let()
            await asyncio.gather(*asked)
        assert bench.batches == [["first"], ["small"], ["large"], ["huge"], ["late"]]

    played(story)


def test_small_questions_fill_a_batch_to_its_limit() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench, max_batch=3) as coalescer:
            asked = [coalescer.ask(question) for question in "abcdef"]
            bench.let()
            await asyncio.gather(*asked)
        assert bench.batches == [["a"], ["b", "c", "d"], ["e", "f"]]

    played(story)


def test_a_batch_that_fails_is_answered_to_each_of_its_askers_and_the_next_one_works() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench, max_batch=2) as coalescer:
            asked = [coalescer.ask(question) for question in ("a", "b", "fail", "c")]
            bench.let()
            answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(answer) for answer in answers] == ["A", "as ordered", "as ordered", "C"]

    played(story)


def test_more_than_can_wait_is_refused_and_later_ones_are_taken_again() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench, max_waiting=3) as coalescer:
            asked = [coalescer.ask("at work"), coalescer.ask("a", size=2), coalescer.ask("b")]
            with pytest.raises(NotReady):
                coalescer.ask("one too many")
            bench.let()
            assert await asyncio.gather(*asked) == ["AT WORK", "A", "B"]
            assert await coalescer.ask("c", size=3) == "C"

    played(story)


def test_closing_answers_everything_that_was_asked() -> None:
    async def story() -> None:
        bench = Bench()
        async with coalescing(bench, max_batch=1) as coalescer:
            asked = [coalescer.ask(question) for question in "abc"]
        assert [answer.result() for answer in asked] == ["A", "B", "C"]

    played(story)


def test_closing_what_nobody_ever_asked_is_nothing() -> None:
    async def story() -> None:
        async with coalescing(Bench()):
            pass

    played(story)


def test_an_asker_that_gave_up_harms_nobody() -> None:
    async def story() -> None:
        bench = Bench()

        async def ask(coalescer: Coalescer[str, str], question: str) -> str:
            return await coalescer.ask(question)

        async with coalescing(bench) as coalescer:
            tasks = [asyncio.create_task(ask(coalescer, question)) for question in ("a", "b", "fail", "c")]
            await until(lambda: bench.batches)
            tasks[0].cancel()
            tasks[1].cancel()
            bench.let()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(answer) for answer in answers[:2]] == [asyncio.CancelledError] * 2
            assert [str(answer) for answer in answers[2:]] == ["as ordered"] * 2
            assert await coalescer.ask("d") == "D"

    played(story)
