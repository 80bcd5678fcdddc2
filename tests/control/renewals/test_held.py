"""Renewals that wait for news: what ends the wait, and what is said then."""

import asyncio
from asyncio import to_thread

import pytest

from control.operations.reap import reap_expired_leases
from control.renewals.exchange import CallerGone
from corral.contract.host_protocol import Assignment
from tests.control.fleet import Fleet, Host
from tests.control.renewals.conftest import PlaneAt
from tests.control.renewals.processes import Writes, process
from tests.control.renewals.stories import played, until

POLL_MS = round(30_000 / 18)


@pytest.fixture
def fleet(plane_at: PlaneAt, redis_url: str) -> Fleet:
    return Fleet(plane_at(redis_url))


def busy(fleet: Fleet, name: str) -> tuple[Host, Assignment]:
    host = fleet.host(name=name)
    return host, fleet.running(host)


def busy_with_two(fleet: Fleet) -> tuple[Host, Assignment, Assignment]:
    host = fleet.host("A", "B")
    return host, fleet.running(host), fleet.running(host)


def test_a_cancel_ends_the_wait_and_the_other_leases_are_renewed_by_the_same_answer(
    fleet: Fleet, redis_url: str
) -> None:
    async def story() -> None:
        host, one, other = busy_with_two(fleet)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, one, other)
            held = await here.holding(host, one, other)
            with Writes() as writes:
                await to_thread(fleet.cancel, one.task_id)
                answer = await held
            assert [lease.cancel_requested for lease in answer.leases] == [True, False]
            assert [lease.status for lease in answer.leases] == ["renewed", "renewed"]
            assert [lease.lease_remaining_ms for lease in answer.leases] == [30_000, 30_000]
            assert writes.count == 1
            assert answer.held_ms < 10_000
            assert not here.holds(host)
        assert {"cancel_delivered"} <= {*fleet.kinds(one.task_id)}

    played(story)


@pytest.mark.parametrize("loss", ["reaped", "a former life"])
def test_a_lost_lease_ends_the_wait(fleet: Fleet, redis_url: str, loss: str) -> None:
    async def story() -> None:
        host = fleet.host()
        assignment = fleet.running(host)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, assignment)
            held = await here.holding(host, assignment)
            if loss == "reaped":
                fleet.expire(assignment)
                assert await to_thread(reap_expired_leases, fleet.plane) == 1
            else:
                await to_thread(host.restart)
            answer = await held
            assert [(lease.status, lease.lease_remaining_ms) for lease in answer.leases] == [("stale", 0)]
            assert answer.renew_after_ms == POLL_MS

    played(story)


def test_a_lease_that_its_host_ended_wakes_nobody(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host, one, other = busy_with_two(fleet)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, one, other)
            held = await here.holding(host, other)
            await to_thread(host.report, one, "done")
            await to_thread(fleet.cancel, other.task_id)
            with Writes() as writes:
                assert (await held).leases[0].cancel_requested
            assert writes.count == 1

    played(story)


def test_news_of_a_lease_that_the_request_does_not_name_ends_no_wait(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host, one, other = busy_with_two(fleet)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, one, other)
            held = await here.holding(host, one)
            await to_thread(fleet.cancel, other.task_id)
            await here.hears(other)
            await asyncio.sleep(0)
            assert not held.done()
            await to_thread(fleet.cancel, one.task_id)
            assert (await held).leases[0].cancel_requested

    played(story)


def test_a_later_request_of_the_same_host_lets_the_earlier_go_and_neither_asks_in_a_loop(
    fleet: Fleet, redis_url: str
) -> None:
    async def story() -> None:
        host = fleet.host()
        assignment = fleet.running(host)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, assignment)
            with Writes() as writes:
                earlier = await here.holding(host, assignment)
                later = here.held(host, assignment)
                let_go = await earlier
                assert let_go.leases[0].status == "renewed"
                assert let_go.renew_after_ms == POLL_MS
                assert here.holds(host)
                assert not later.done()
                assert writes.count == 0
            await to_thread(fleet.cancel, assignment.task_id)
            assert (await later).leases[0].cancel_requested

    played(story)


def test_the_end_of_the_process_answers_all_and_holds_nothing_any_more(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        running = [busy(fleet, f"host{number}") for number in range(5)]
        async with process(fleet.plane, redis_url) as here:
            await asyncio.gather(*[here.renew(host, assignment) for host, assignment in running])
            held = [here.held(host, assignment) for host, assignment in running]
            await until(lambda: all(here.holds(host) for host, _ in running))
            with Writes() as writes:
                here.listener.end_holds()
                answers = await asyncio.gather(*held)
                late = await here.renew(*running[0], wait_seconds=20)
            assert writes.count == 0
            # At once, to another process.
            assert {answer.renew_after_ms for answer in [*answers, late]} == {0}
            assert {answer.leases[0].status for answer in [*answers, late]} == {"renewed"}

    played(story)


def test_beyond_what_can_be_held_hosts_are_answered_at_once_from_memory_and_told_to_poll(
    fleet: Fleet, redis_url: str
) -> None:
    async def story() -> None:
        first, one = busy(fleet, "first")
        second, other = busy(fleet, "second")
        async with process(fleet.plane, redis_url, max_held=1) as here:
            await asyncio.gather(here.renew(first, one), here.renew(second, other))
            held = await here.holding(first, one)
            with Writes() as writes:
                answer = await here.renew(second, other, wait_seconds=20)
                assert writes.count == 0
            assert answer.leases[0].status == "renewed"
            assert answer.renew_after_ms == POLL_MS
            await to_thread(fleet.cancel, other.task_id)
            await here.hears(other)
            answer = await here.renew(second, other, wait_seconds=20)
            assert answer.leases[0].cancel_requested
            assert answer.renew_after_ms == POLL_MS
            await to_thread(fleet.cancel, one.task_id)
            await held

    played(story)


def test_a_wait_that_ends_before_postgres_is_due_is_answered_without_a_write(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host = fleet.host()
        assignment = fleet.running(host)
        async with process(fleet.plane, redis_url) as here:
            first = await here.renew(host, assignment)
            with Writes() as writes:
                answer = await here.renew(host, assignment, wait_seconds=0.05)
            assert writes.count == 0
            (lease,) = answer.leases
            assert lease.status == "renewed"
            assert lease.lease_expires_at == first.leases[0].lease_expires_at
            assert answer.renew_after_ms == 0
            assert 40 <= answer.held_ms < 5_000
            # Together they say no more than what Postgres said.
            assert lease.lease_remaining_ms + answer.held_ms <= 30_000

    played(story)


def test_a_wait_that_ends_when_postgres_is_due_renews(plane_at: PlaneAt, redis_url: str) -> None:
    fleet = Fleet(plane_at(redis_url, lease_seconds=0.6))

    async def story() -> None:
        host = fleet.host()
        assignment = fleet.running(host)
        async with process(fleet.plane, redis_url) as here:
            first = await here.renew(host, assignment)
            with Writes() as writes:
                answer = await here.renew(host, assignment, wait_seconds=20)
            assert writes.count == 1
            assert answer.leases[0].lease_remaining_ms == 600
            assert answer.leases[0].lease_expires_at > first.leases[0].lease_expires_at
            assert answer.held_ms < 500

    played(story)


def test_a_caller_who_hung_up_gets_nothing_renewed(fleet: Fleet, redis_url: str) -> None:
    async def gone() -> bool:
        return True

    async def story() -> None:
        host = fleet.host()
        assignment = fleet.running(host)
        async with process(fleet.plane, redis_url) as here:
            await here.renew(host, assignment)
            held = await here.holding(host, assignment, is_gone=gone)
            with Writes() as writes:
                await to_thread(fleet.cancel, assignment.task_id)
                with pytest.raises(CallerGone):
                    await held
            assert writes.count == 0
            assert not here.holds(host)
        assert "cancel_delivered" not in fleet.kinds(assignment.task_id)

    played(story)


def test_leases_that_the_host_did_not_name_are_told(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host, one, other = busy_with_two(fleet)
        stranger, foreign = busy(fleet, "stranger")
        async with process(fleet.plane, redis_url) as here:
            answer, theirs = await asyncio.gather(here.renew(host, one), here.renew(stranger, foreign))
            assert answer.other_leases == [str(other.lease_id)]
            assert theirs.other_leases == []
            both = await here.renew(host, one, other)
            assert both.other_leases == []

    played(story)


def test_another_hosts_lease_is_stale_and_is_not_renewed(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host, mine = busy(fleet, "host")
        stranger, theirs = busy(fleet, "stranger")
        async with process(fleet.plane, redis_url) as here:
            await here.renew(stranger, theirs)
            before = _expiry(fleet, theirs)
            answer = await here.renew(host, mine, theirs)
            assert [lease.status for lease in answer.leases] == ["renewed", "stale"]
            assert _expiry(fleet, theirs) == before

    played(story)


def test_what_was_not_taken_in_is_said_again_but_never_in_a_loop(fleet: Fleet, redis_url: str) -> None:
    async def story() -> None:
        host = fleet.host("A", "B")
        cancelled, lost = fleet.running(host), fleet.running(host)
        await to_thread(fleet.cancel, cancelled.task_id)
        await to_thread(host.report, lost, "done")
        async with process(fleet.plane, redis_url) as here:
            for assignments in ((cancelled,), (lost,), (cancelled, lost)):
                for _ in range(2):
                    answer = await here.renew(host, *assignments, wait_seconds=20)
                    assert answer.renew_after_ms == POLL_MS
            answer = await here.renew(host, cancelled, seen=(cancelled,))
            assert answer.leases[0].cancel_requested
            assert answer.renew_after_ms == 0
            held = await here.holding(host, cancelled, seen=(cancelled,))
            await asyncio.sleep(0)
            assert not held.done()
            here.listener.end_holds()
            assert (await held).leases[0].cancel_requested

    played(story)


def _expiry(fleet: Fleet, assignment: Assignment) -> object:
    with fleet.plane.database.transaction() as tx:
        return tx.value(
            "SELECT expires_at FROM leases WHERE lease_id = :lease_id",
            lease_id=assignment.lease_id,
        )
