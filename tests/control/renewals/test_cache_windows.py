"""Between two facts there is a window. Whatever gets lost, late or old in it, no lease is lost, and no cancel.

Two processes stand over one database and one Redis. A cancel is heard at the latest at the next look into Postgres,
which is due a third of a lease after the last.
"""

import asyncio
import time
from asyncio import to_thread
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import redis

from control.domain.errors import StaleLease
from control.operations.cancels import reconcile_cancels
from control.operations.plane import Job, Plane
from control.operations.reap import reap_expired_leases
from control.signals.breaker import Breaker
from control.signals.lease_cache import LeaseCache
from control.signals.words import CHANNEL, LeaseOf, lease_words
from corral.contract.host_protocol import Assignment
from corral.failpoints import on
from tests.control.fleet import Fleet, Host, RecordedWakeups
from tests.control.renewals.conftest import PlaneAt
from tests.control.renewals.faults import Delay, freeze, own_valkey, slow_way_to
from tests.control.renewals.processes import Process, Writes, process
from tests.control.renewals.stories import played, until

#: Where time has to pass.
LEASE_SECONDS = 0.9
DUE_SECONDS = LEASE_SECONDS / 3
#: One request, on a machine that is busy. That the first look into Postgres told is counted, not timed.
REQUEST_SECONDS = 0.5


class Scene:
    """A host with one running task, and who talks of it."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.fleet = Fleet(plane)
        self.host: Host = self.fleet.host()
        self.assignment: Assignment = self.fleet.running(self.host)

    @property
    def lease(self) -> LeaseOf:
        return LeaseOf(self.host.host_id, self.assignment.lease_id)

    @property
    def key(self) -> str:
        return f"corral:lease:{self.host.host_id}:{self.assignment.lease_id}"

    async def poll(self, here: Process, **more: bool) -> bool:
        """Whether this process says that the task is to be stopped."""
        return (await here.poll(self.host, self.assignment, **more)).cancel_requested

    async def cancel(self) -> None:
        await to_thread(self.fleet.cancel, self.assignment.task_id)

    def cancel_unmarked(self) -> None:
        """The commit alone: whatever comes after it has not happened yet."""
        quiet = Fleet(replace(self.plane, wakeups=RecordedWakeups()))
        quiet.cancel(self.assignment.task_id)

    async def told_in_time(self, *processes: Process) -> None:
        """Poll these in turn: the first look into Postgres tells, and comes when a third of the lease has passed."""
        began_at = time.monotonic()
        with Writes() as writes:
            while not await self.poll(processes[0]):
                processes = (*processes[1:], processes[0])
                await asyncio.sleep(0.01)
        assert writes.count == 1
        assert time.monotonic() - began_at < DUE_SECONDS + REQUEST_SECONDS

    def lives(self) -> bool:
        with self.plane.database.transaction() as tx:
            return tx.value(
                "SELECT count(*) = 1 FROM leases WHERE lease_id = :lease_id AND expires_at > corral_now()",
                lease_id=self.assignment.lease_id,
            )


def fail() -> None:
    raise ConnectionError("as ordered")


@pytest.fixture
def scene(plane_at: PlaneAt, redis_url: str) -> Scene:
    return Scene(plane_at(redis_url))


@pytest.fixture
def short(plane_at: PlaneAt, redis_url: str) -> Scene:
    """A scene with leases so short that they end within a test."""
    return Scene(plane_at(redis_url, lease_seconds=LEASE_SECONDS))


def two_processes(
    scene: Scene, url: str, story: Callable[[Process, Process], Awaitable[None]], *, is_listening: bool = True
) -> None:
    """The story of two processes; the first has just renewed the lease, so the second knows of it from Redis."""

    async def play() -> None:
        async with (
            process(scene.plane, url, is_listening=is_listening) as one,
            process(scene.plane, url, is_listening=is_listening) as other,
        ):
            assert not await scene.poll(one)
            await story(one, other)

    played(play)


def test_what_one_process_has_renewed_the_other_answers_without_postgres(scene: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        with Writes() as writes:
            for _ in range(3):
                assert not await scene.poll(other)
                assert not await scene.poll(one)
        assert writes.count == 0

    two_processes(scene, redis_url, story)


def test_a_cancel_is_told_by_both_as_soon_as_they_have_heard_of_it(scene: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        await scene.cancel()
        for here in (one, other):
            await here.hears(scene.assignment)
            assert await scene.poll(here)

    two_processes(scene, redis_url, story)


def test_a_mark_that_was_lost_is_repeated(scene: Scene, redis_url: str, plane_at: PlaneAt) -> None:
    async def story(one: Process, other: Process) -> None:
        with on("cancel.marking", fail):
            await scene.cancel()
        assert scene.plane.doorbell.rung[-1] is Job.RECONCILE_CANCELS  # type: ignore[attr-defined]
        assert not await scene.poll(one)
        assert not await scene.poll(other)
        assert await to_thread(reconcile_cancels, plane_at(redis_url)) == 1
        for here in (one, other):
            await here.hears(scene.assignment)
            assert await scene.poll(here)
        assert await to_thread(reconcile_cancels, plane_at(redis_url)) == 0

    two_processes(scene, redis_url, story)


def test_a_mark_that_was_lost_for_good_is_heard_at_the_next_look_into_postgres(short: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        with on("cancel.marking", fail):
            await short.cancel()
        await short.told_in_time(one, other)
        assert short.lives()

    two_processes(short, redis_url, story)


def test_until_a_late_mark_comes_nothing_is_told_and_from_then_on_everything(scene: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        loop = asyncio.get_running_loop()
        told: list[bool] = []

        def poll_both() -> None:
            polls = [asyncio.run_coroutine_threadsafe(scene.poll(here), loop) for here in (one, other)]
            told.extend(poll.result(10) for poll in polls)

        with on("cancel.committed", poll_both):
            await scene.cancel()
        assert told == [False, False]
        for here in (one, other):
            await here.hears(scene.assignment)
            assert await scene.poll(here)

    two_processes(scene, redis_url, story)


@pytest.mark.parametrize("place", ["renew.committed", "cache.filling"])
def test_a_fill_after_the_mark_does_not_wipe_it_out(scene: Scene, redis_url: str, place: str) -> None:
    async def story() -> None:
        async with (
            process(scene.plane, redis_url) as one,
            process(scene.plane, redis_url) as other,
            process(scene.plane, redis_url, is_listening=False) as deaf,
        ):
            # Postgres is read, then the cancel commits and marks, and only then the record is filled.
            with on(place, partial(scene.fleet.cancel, scene.assignment.task_id)):
                assert not await scene.poll(one)
            for here in (one, other):
                await here.hears(scene.assignment)
                assert await scene.poll(here)
            assert await scene.poll(deaf)

    played(story)


@pytest.mark.parametrize("place", ["renew.committed", "cache.filling"])
def test_a_fill_after_the_lease_was_reaped_does_not_bring_it_back(scene: Scene, redis_url: str, place: str) -> None:
    def reap() -> None:
        scene.fleet.expire(scene.assignment)
        reap_expired_leases(scene.plane)

    async def story() -> None:
        async with process(scene.plane, redis_url) as one, process(scene.plane, redis_url) as other:
            with on(place, reap):
                await scene.poll(one)
            for here in (other, one):
                await here.hears(scene.assignment)
                with pytest.raises(StaleLease):
                    await scene.poll(here)
            answer = await other.renew(scene.host, scene.assignment, wait_seconds=20)
            assert answer.leases[0].status == "stale"

    played(story)


def test_a_record_from_an_old_snapshot_hides_a_cancel_for_no_longer_than_a_third(short: Scene, redis_url: str) -> None:
    async def story() -> None:
        async with process(short.plane, redis_url) as one:
            await short.poll(one)
            with redis.Redis.from_url(redis_url) as server:
                record, left_ms = server.dump(short.key), server.pttl(short.key)
                await short.cancel()
                # Whoever heard the word does not ask Redis, so it is asked by one that came later.
                async with process(short.plane, redis_url) as other:
                    server.restore(short.key, left_ms, record, replace=True)
                    await short.told_in_time(other)
                await one.hears(short.assignment)
                assert await short.poll(one)
        assert short.lives()

    played(story)


def test_a_record_from_an_old_snapshot_brings_no_lease_back(short: Scene, redis_url: str) -> None:
    async def story() -> None:
        async with process(short.plane, redis_url) as one:
            await short.poll(one)
            with redis.Redis.from_url(redis_url) as server:
                record, left_ms = server.dump(short.key), server.pttl(short.key)
                await to_thread(short.host.restart)
                server.restore(short.key, left_ms, record, replace=True)
            async with process(short.plane, redis_url) as other:
                began_at = time.monotonic()
                with Writes() as writes, pytest.raises(StaleLease):
                    await short.told_in_time(other)
                assert writes.count == 0
                assert time.monotonic() - began_at < DUE_SECONDS + REQUEST_SECONDS

    played(story)


@pytest.mark.parametrize("loss", ["evicted", "flushed"])
def test_a_record_that_is_gone_costs_a_look_into_postgres(scene: Scene, redis_url: str, loss: str) -> None:
    async def story(one: Process, other: Process) -> None:
        def lose() -> None:
            with redis.Redis.from_url(redis_url) as server:
                _ = server.delete(scene.key) if loss == "evicted" else server.flushdb()

        lose()
        with Writes() as writes:
            assert not await scene.poll(other)
        assert writes.count == 1
        await scene.cancel()
        lose()
        for here in (one, other):
            await here.hears(scene.assignment)
            assert await scene.poll(here)
        async with process(scene.plane, redis_url) as later:
            lose()
            assert await scene.poll(later)

    two_processes(scene, redis_url, story)


def test_a_redis_that_answers_too_late_costs_neither_lease_nor_cancel(plane_at: PlaneAt, redis_url: str) -> None:
    async def story() -> None:
        async with slow_way_to(redis_url, Delay(0.06)) as slow_url:
            scene = Scene(plane_at(slow_url, lease_seconds=LEASE_SECONDS))
            async with process(scene.plane, slow_url) as one, process(scene.plane, slow_url) as other:
                for here in (one, other, other, one):
                    assert not await scene.poll(here)
                await scene.cancel()
                await scene.told_in_time(one, other)
                assert scene.lives()

    played(story)


def test_an_answer_that_came_too_late_is_not_taken_for_that_of_the_next_question(redis_url: str) -> None:
    one, other = ("host", "one"), ("host", "other")

    async def story() -> None:
        delay = Delay(0)
        async with slow_way_to(redis_url, delay) as slow_url:
            cache = LeaseCache(slow_url, lease_seconds=30)
            cache._breaker = Breaker("test", rest_seconds=0)
            await to_thread(cache.fill, {one: True, other: False}, remaining_ms=20_000, expires_at="then")
            for _ in range(5):
                delay.seconds = 0.04
                assert await to_thread(cache.look, [one]) == [None]
                delay.seconds = 0
                (found,) = await to_thread(cache.look, [other])
                assert found is None or not found.is_cancelled
            (found,) = await to_thread(cache.look, [other])
            assert found is not None
            assert not found.is_cancelled
            cache.close()

    played(story)


@pytest.mark.parametrize("fault", ["frozen", "stopped"])
def test_without_redis_no_lease_is_lost_and_a_cancel_is_heard_within_a_third(
    plane_at: PlaneAt, tmp_path: Path, fault: str
) -> None:
    with own_valkey(tmp_path) as server:
        scene = Scene(plane_at(server.url, lease_seconds=LEASE_SECONDS))

        async def story(one: Process, other: Process) -> None:
            if fault == "frozen":
                freeze(server)
            else:
                await to_thread(server.stop)
                await until(lambda: not one.listener.is_connected and not other.listener.is_connected)
            ends_at = time.monotonic() + 2 * DUE_SECONDS
            while time.monotonic() < ends_at:
                for here in (one, other):
                    assert not await scene.poll(here)
                assert scene.lives()
                await asyncio.sleep(0.03)
            held = other.held(scene.host, scene.assignment)
            await asyncio.sleep(0)
            began_at = time.monotonic()
            await scene.cancel()
            await scene.told_in_time(one)
            answer = await held
            if not answer.leases[0].cancel_requested:
                # It was answered before the cancel, and the next one is answered after it.
                answer = await other.renew(scene.host, scene.assignment, wait_seconds=20)
            assert answer.leases[0].cancel_requested
            assert time.monotonic() - began_at < DUE_SECONDS + 2 * REQUEST_SECONDS
            assert scene.lives()

        two_processes(scene, server.url, story)


def test_a_redis_that_comes_back_is_used_again(plane_at: PlaneAt, tmp_path: Path) -> None:
    with own_valkey(tmp_path) as server:
        scene = Scene(plane_at(server.url))

        async def story(one: Process, other: Process) -> None:
            await to_thread(server.stop)
            await until(lambda: not one.listener.is_connected and not other.listener.is_connected)
            held = one.held(scene.host, scene.assignment)
            await to_thread(server.start)
            await until(lambda: one.listener.is_connected and other.listener.is_connected)
            assert (await held if held.done() else await other.renew(scene.host, scene.assignment)).leases
            await scene.cancel()
            for here in (one, other):
                await here.hears(scene.assignment)
                assert await scene.poll(here)

        two_processes(scene, server.url, story)


def test_polls_that_take_turns_at_two_processes_lose_nothing_and_write_no_more_than_both_alone(
    short: Scene, redis_url: str
) -> None:
    async def story(one: Process, other: Process) -> None:
        with Writes() as writes:
            ends_at = time.monotonic() + LEASE_SECONDS
            while time.monotonic() < ends_at:
                for here in (one, other):
                    assert not await short.poll(here)
                    await asyncio.sleep(0.02)
                assert short.lives()
        assert 2 <= writes.count <= 7

    two_processes(short, redis_url, story)


def test_a_hold_that_is_longer_than_what_remains_of_the_lease_renews_it_in_time(short: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        for here in (one, other):
            began_at = time.monotonic()
            answer = await here.renew(short.host, short.assignment, wait_seconds=25)
            assert time.monotonic() - began_at < DUE_SECONDS + REQUEST_SECONDS
            assert answer.leases[0].lease_remaining_ms == round(LEASE_SECONDS * 1000)
            assert short.lives()

    two_processes(short, redis_url, story)


def test_a_hold_that_began_between_the_mark_and_its_word_is_woken_by_the_word(scene: Scene, redis_url: str) -> None:
    async def story(one: Process, other: Process) -> None:
        await to_thread(scene.cancel_unmarked)
        with redis.Redis.from_url(redis_url) as server:
            record = server.get(scene.key)
            assert isinstance(record, bytes)
            server.set(scene.key, b"cancel" + record[4:], keepttl=True)
            # This one knows the lease by itself, so it does not see the mark.
            held = one.held(scene.host, scene.assignment)
            await until(lambda: one.holds(scene.host))
            await asyncio.sleep(0)
            assert not held.done()
            # That one asks Redis, and so it does.
            answer = await other.renew(scene.host, scene.assignment, wait_seconds=20)
            assert answer.leases[0].cancel_requested
            server.publish(CHANNEL, lease_words([scene.lease]))
            assert (await held).leases[0].cancel_requested

    two_processes(scene, redis_url, story)


def test_a_record_that_says_cancel_stops_nobody_whom_nobody_cancelled(scene: Scene, redis_url: str) -> None:
    async def story(_one: Process, other: Process) -> None:
        with redis.Redis.from_url(redis_url) as server:
            server.set(scene.key, b"cancel 2030-01-01T00:00:00+00:00", px=29_000)
        assert (
            not (await other.renew(scene.host, scene.assignment, wait_seconds=20, seen=(scene.assignment,)))
            .leases[0]
            .cancel_requested
        )
        async with process(scene.plane, redis_url) as third:
            with Writes() as writes:
                assert not await scene.poll(third)
            assert writes.count == 1
            assert not await scene.poll(third)

    two_processes(scene, redis_url, story)


def test_a_word_that_nobody_meant_stops_nobody(scene: Scene, redis_url: str) -> None:
    async def story(one: Process, _other: Process) -> None:
        held = one.held(scene.host, scene.assignment)
        await until(lambda: one.holds(scene.host))
        with redis.Redis.from_url(redis_url) as server:
            server.publish(CHANNEL, f"lease:nonsense {lease_words([scene.lease])}")
        answer = await held
        assert answer.leases[0].status == "renewed"
        assert not answer.leases[0].cancel_requested

    two_processes(scene, redis_url, story)
