"""The leases of a host share one request, and nothing else: what one of them meets is its own."""

import asyncio
import json
import time
import uuid
from dataclasses import dataclass

import pytest
from structlog.testing import capture_logs

from corral.contract.host_protocol import Assignment
from corral.contract.tasks import Progress
from tests.workers.host.far_side import (
    HOST_ID,
    Dropped,
    FarSide,
    Hanging,
    Lease,
    Page,
    assignment as wire_assignment,
    problem,
    renewal as wire_renewal,
    until,
)
from workers.assignment import host_renewal, shared_renewal
from workers.assignment.guard import LeaseGuard, StopReason
from workers.assignment.host_renewal import HostRenewal
from workers.assignment.renewal import LeaseRenewal
from workers.clock import boot_seconds
from workers.control_client.client import ControlClient

pytestmark = pytest.mark.anyio

JSON = (("content-type", "application/json"),)


@dataclass
class Running:
    """One lease of the host, as a runner renews it."""

    lease: Lease
    guard: LeaseGuard
    renewal: LeaseRenewal
    task: asyncio.Task[None]

    @property
    def lease_id(self) -> str:
        return self.lease.lease_id


class Bench:
    """A host with leases and nothing to run."""

    def __init__(self, far_side: FarSide, client: ControlClient) -> None:
        self.far_side = far_side
        self.slept_seconds = 0.0
        self.client = client
        self.host_renewal = HostRenewal(client=client, clock=self.now)
        self.tasks = [asyncio.create_task(self.host_renewal.run())]

    def now(self) -> float:
        return boot_seconds() + self.slept_seconds

    def take(self, *names: str) -> list[Running]:
        return [self._take(name) for name in names]

    def _take(self, name: str) -> Running:
        lease_seconds = self.far_side.lease_seconds
        lease = Lease(str(uuid.uuid4()), str(uuid.uuid4()), name, expires_at=time.monotonic() + lease_seconds)
        self.far_side.leases[lease.lease_id] = lease
        assignment = Assignment.model_validate(wire_assignment(lease, lease_seconds))
        guard = LeaseGuard(assignment.lease_id, lease_seconds=lease_seconds, clock=self.now)
        guard.extend(sent_at=self.now(), held_ms=0, remaining_ms=assignment.lease_remaining_ms)
        renewal = LeaseRenewal(assignment, guard, client=self.client, together=self.host_renewal, clock=self.now)
        self.tasks.append(asyncio.create_task(renewal.run()))
        return Running(lease, guard, renewal, self.tasks[-1])

    async def held(self, *running: Running) -> None:
        """Until one request is held for these leases and no others."""
        await until(lambda: self.asked_last() == {one.lease_id for one in running})

    def asked_last(self) -> set[str]:
        return set(self.seen_last())

    def seen_last(self) -> dict[str, bool]:
        """The leases of the last request, and whether it said that their cancel is known."""
        requests = self.far_side.made("renew_all")
        return {lease["lease_id"]: lease["cancel_seen"] for lease in requests[-1].body["leases"]} if requests else {}


@pytest.fixture
async def bench(far_side):
    far_side.lease_seconds = 30.0
    async with ControlClient(far_side.url, host_id=HOST_ID, credential="made-up") as client:
        bench = Bench(far_side, client)
        yield bench
        for task in bench.tasks:
            task.cancel()
        await asyncio.wait(bench.tasks)


def answer(*entries: dict, **more) -> Page:
    return Page(200, json.dumps({"leases": entries, "held_ms": 0, "renew_after_ms": 0, **more}), JSON)


def entry(lease: Lease, **more) -> dict:
    return wire_renewal(lease, 30.0, 0) | more


async def test_the_first_renewal_of_a_lease_is_its_own_and_the_following_are_shared(bench, far_side):
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    assert [call.route for call in far_side.calls[:2]] == ["renew", "renew"]
    assert len(far_side.made("renew")) == 2
    assert far_side.made("renew_all")[-1].body["wait_ms"] == 9_000


async def test_a_cancel_reaches_the_run_while_the_renewal_is_held(bench, far_side):
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    a.lease.cancel_requested = True
    cancelled_at = time.monotonic()
    await until(a.guard.should_stop)
    assert time.monotonic() - cancelled_at < 3.0
    assert a.guard.reason is StopReason.CANCELLED
    assert not b.guard.should_stop()
    await a.renewal.cancel_told.wait()
    assert a.lease.seen_at is not None
    # No request stands between the news and the word that it was seen, but the next one of the others.
    told = next(index for index, call in enumerate(far_side.calls) if call.body.get("cancel_seen"))
    assert [call.route for call in far_side.calls[:told]].count("renew_all") <= 3


async def test_a_cancelled_lease_is_renewed_on_with_the_others(bench, far_side):
    far_side.lease_seconds = 1.2
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    a.lease.cancel_requested = True
    await until(lambda: bench.seen_last() == {a.lease_id: True, b.lease_id: False})
    assert len(far_side.made("renew")) == 3


async def test_a_lease_that_joins_cuts_the_held_request(bench, far_side):
    [a] = bench.take("A")
    await bench.held(a)
    others = bench.take(*"BCDEFGH")
    await until(lambda: len(bench.asked_last()) == 8, seconds=5)
    assert len(far_side.made("renew_all")) < 8
    others[-1].lease.cancel_requested = True
    await until(others[-1].guard.should_stop, seconds=5)


async def test_a_lease_that_leaves_cuts_nothing(bench, far_side):
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    requests = len(far_side.made("renew_all"))
    requests_at_answer: list[int] = []
    far_side.on_call = lambda _: requests_at_answer.append(len(far_side.made("renew_all")))
    b.task.cancel()
    await asyncio.wait({b.task})
    a.lease.cancel_requested = True
    await until(a.guard.should_stop)
    assert requests_at_answer[0] == requests


async def test_a_lost_lease_stops_its_run_and_no_other(bench, far_side):
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    a.lease.is_ended = True
    await a.task
    assert a.guard.reason is StopReason.LEASE_REJECTED
    assert not a.guard.may_touch()
    await bench.held(b)
    assert b.guard.may_touch()
    assert not b.guard.should_stop()
    assert far_side.expired == []


async def test_a_lease_that_ends_with_its_report_is_not_told_as_lost(bench):
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    a.renewal.is_reporting = True
    with capture_logs() as lines:
        a.lease.is_ended = True
        await a.task
    assert "lease.lost" not in [line["event"] for line in lines]


async def test_progress_rides_along(bench, far_side):
    far_side.lease_seconds = 0.9
    a, b = bench.take("A", "B")
    await bench.held(a, b)
    a.renewal.progress = Progress(step=3, text="looks")
    await until(lambda: 3 in far_side.steps_told(a.lease.task_id))
    assert far_side.steps_told(b.lease.task_id) == {0}


async def test_an_older_control_plane_is_renewed_lease_by_lease(bench, far_side):
    far_side.lease_seconds = 1.2
    far_side.renews_together = False
    with capture_logs() as lines:
        a, b = bench.take("A", "B")
        # Both shared one request, or had one each.
        await until(lambda: far_side.made("renew_all") and not bench.host_renewal.is_offered)
        await until(lambda: min(len(far_side.renewals_of(one.lease_id)) for one in (a, b)) > 4)
    assert len(far_side.made("renew_all")) <= 2
    assert [line["event"] for line in lines].count("lease.renewed_alone") == len(far_side.made("renew_all"))
    a.lease.cancel_requested = True
    await until(lambda: a.guard.should_stop() and a.lease.seen_at)
    assert not b.guard.should_stop()


async def test_a_control_plane_that_was_replaced_is_asked_again_after_a_while(bench, far_side, monkeypatch):
    monkeypatch.setattr(host_renewal, "ASK_AGAIN_SECONDS", 0.1)
    far_side.lease_seconds = 1.2
    far_side.renews_together = False
    [a] = bench.take("A")
    await until(lambda: not bench.host_renewal.is_offered)
    far_side.renews_together = True
    await until(lambda: len(far_side.made("renew_all")) > 1)
    assert a.guard.may_touch()


async def test_no_answer_extends_trust_unless_it_names_the_lease_and_its_time(bench, far_side):
    far_side.lease_seconds = 1.2
    far_side.order("renew", None, None)
    far_side.always["renew"] = Hanging
    a, b = bench.take("A", "B")
    stranger = Lease(str(uuid.uuid4()), str(uuid.uuid4()), "Z", expires_at=0)
    far_side.always["renew_all"] = answer(
        entry(stranger, lease_remaining_ms=3_600_000), entry(b.lease, lease_remaining_ms=0)
    )
    await until(lambda: len(far_side.made("renew")) == 4)
    bench.slept_seconds = 1.2
    assert not a.guard.may_touch()
    assert not b.guard.may_touch()


async def test_no_answer_extends_trust_by_a_hold_longer_than_it_took(bench, far_side):
    far_side.lease_seconds = 1.2
    [a] = bench.take("A")
    far_side.order("renew_all", answer(entry(a.lease, lease_remaining_ms=1200), held_ms=3_600_000))
    await until(lambda: len(far_side.made("renew_all")) == 2)
    bench.slept_seconds = 1.2
    assert not a.guard.may_touch()


async def test_a_lease_that_an_answer_leaves_out_asks_alone_and_costs_no_other(bench, far_side):
    far_side.lease_seconds = 1.2
    a, b = bench.take("A", "B")
    far_side.always["renew_all"] = answer(entry(b.lease, lease_remaining_ms=1200))
    await until(lambda: len(far_side.made("renew")) >= 4)
    assert [call.subject for call in far_side.made("renew")].count(b.lease_id) == 1
    assert a.guard.may_touch()
    assert b.guard.may_touch()


async def test_a_silent_control_plane_trips_the_guard_in_time(bench, far_side):
    far_side.lease_seconds = 1.0
    far_side.always["renew_all"] = Hanging
    [a] = bench.take("A")
    await until(lambda: far_side.made("renew_all"))
    renewed_at = far_side.made("renew")[0].at
    await until(lambda: not a.guard.may_touch())
    assert time.monotonic() < renewed_at + far_side.lease_seconds
    assert a.guard.reason is StopReason.LEASE_DEADLINE


async def test_a_request_that_failed_is_followed_by_one_that_is_not_held(bench, far_side):
    far_side.lease_seconds = 1.2
    far_side.order("renew_all", Dropped)
    [a] = bench.take("A")
    await until(lambda: len(far_side.made("renew_all")) == 3)
    assert [call.body["wait_ms"] for call in far_side.made("renew_all")] == [360, 1, 360]
    assert len(far_side.made("renew")) == 1
    assert a.guard.may_touch()


NOT_FOR_ALL = {
    "a proxy that does not know the call": Page(404),
    "a captive portal": Page(200),
    "an answer that we cannot read": Page(200, '{"leases": [{"status": "purple"}]}', JSON),
    "a refusal of what one lease says": Page(422, json.dumps(problem(422, "invalid_request")[1]), JSON),
    "a defect that one lease has met": Page(500, json.dumps(problem(500, "internal_error")[1]), JSON),
}


@pytest.mark.parametrize("always", NOT_FOR_ALL.values(), ids=NOT_FOR_ALL.keys())
async def test_what_only_the_shared_request_meets_is_met_alone(bench, far_side, always):
    far_side.lease_seconds = 1.2
    far_side.always["renew_all"] = always
    a, b = bench.take("A", "B")
    await until(lambda: len(far_side.made("renew")) >= 6)
    assert a.guard.may_touch()
    assert b.guard.may_touch()


async def test_a_host_of_very_many_leases_renews_them_in_several_requests(bench, far_side, monkeypatch):
    monkeypatch.setattr(shared_renewal, "MAX_LEASES_IN_A_RENEWAL", 2)
    running = bench.take("A", "B", "C")
    await until(
        lambda: (
            {lease["lease_id"] for call in far_side.made("renew_all") for lease in call.body["leases"]}
            == {one.lease_id for one in running}
        )
    )
    assert max(len(call.body["leases"]) for call in far_side.made("renew_all")) == 2
    for one in running:
        one.lease.cancel_requested = True
    await until(lambda: all(one.guard.should_stop() and one.lease.seen_at for one in running))
