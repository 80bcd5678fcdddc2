"""The guard only ever changes one way."""

import asyncio
import uuid

import pytest

from workers.assignment.guard import LeaseGuard, StopReason

pytestmark = pytest.mark.anyio


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def guard(clock) -> LeaseGuard:
    """A lease of thirty seconds, asked for at 1000."""
    guard = LeaseGuard(uuid.uuid4(), lease_seconds=30.0, clock=clock)
    guard.extend(sent_at=1000.0, held_ms=0, remaining_ms=30_000)
    return guard


async def test_a_live_lease_neither_stops_nor_forbids(guard):
    assert not guard.should_stop()
    assert guard.may_touch()
    assert guard.stop_reason() == "execution interrupted"


async def test_a_cancelled_run_should_stop_and_may_clean_up(guard):
    guard.stop(StopReason.CANCELLED)
    assert guard.should_stop()
    assert guard.stop_reason() == "cancellation requested by control plane"
    assert guard.may_touch()


async def test_a_lost_lease_forbids_for_ever(guard):
    guard.lose(StopReason.LEASE_REJECTED)
    guard.extend(sent_at=1001.0, held_ms=0, remaining_ms=30_000)
    assert not guard.may_touch()
    assert guard.stop_reason() == "lease rejected by control plane"


async def test_the_first_reason_stays(guard):
    guard.stop(StopReason.CANCELLED)
    guard.lose(StopReason.LEASE_REJECTED)
    guard.stop(StopReason.HOST_SHUTDOWN)
    assert guard.reason is StopReason.CANCELLED
    assert not guard.may_touch()


async def test_touching_ends_a_tenth_of_the_lease_before_the_lease(guard, clock):
    clock.now = 1026.9
    assert guard.may_touch()
    clock.now = 1027.0
    assert not guard.may_touch()
    assert guard.reason is StopReason.LEASE_DEADLINE


async def test_a_lease_is_counted_from_when_it_was_asked_for_and_not_from_the_answer(guard, clock):
    clock.now = 1010.0
    guard.extend(sent_at=1002.0, held_ms=3_000, remaining_ms=30_000)
    clock.now = 1031.9
    assert guard.may_touch()
    clock.now = 1032.0
    assert not guard.may_touch()


async def test_an_answer_that_comes_after_the_deadline_revives_nothing(guard, clock):
    clock.now = 1028.0
    guard.extend(sent_at=1026.0, held_ms=0, remaining_ms=30_000)
    assert not guard.may_touch()


async def test_a_shorter_lease_is_believed(guard, clock):
    guard.extend(sent_at=1001.0, held_ms=0, remaining_ms=10_000)
    clock.now = 1009.0
    assert not guard.may_touch()


async def test_waits_are_cut_short_by_a_stop(guard):
    waiting = asyncio.create_task(guard.stopped.wait())
    guard.stop(StopReason.CANCELLED)
    async with asyncio.timeout(5):
        await waiting


async def test_waits_are_cut_short_by_a_deadline_that_nobody_asks_about(clock):
    guard = LeaseGuard(uuid.uuid4(), lease_seconds=0.3, clock=clock)
    guard.extend(sent_at=1000.0, held_ms=0, remaining_ms=300)
    watch = asyncio.create_task(guard.watch())
    clock.now = 1000.5
    async with asyncio.timeout(5):
        await guard.stopped.wait()
        await watch


async def test_a_device_thread_that_meets_the_deadline_wakes_the_run(guard, clock):
    clock.now = 1027.0
    assert not await asyncio.to_thread(guard.may_touch)
    async with asyncio.timeout(5):
        await guard.stopped.wait()
