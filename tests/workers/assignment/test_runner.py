"""One assignment from its claim to its acknowledged report."""

import asyncio
import json
import time

import pytest

from control.api.json_body import read_json
from corral.contract.history import FailureCause
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import Progress
from corral.failpoints import on
from tests.workers.host.far_side import (
    HOST_ID,
    Dropped,
    FarSide,
    Hanging,
    Lease,
    Lost,
    Page,
    assignment as wire_assignment,
    until,
)
from tests.workers.host.scripted import ScriptedExecution, stopped
from workers.assignment.execution import AssignmentExecutionResult, ClaimedAssignment
from workers.assignment.guard import StopReason
from workers.assignment.host_renewal import HostRenewal
from workers.assignment.reporter import Reporter
from workers.assignment.runner import ActiveAssignmentRunner
from workers.assignment.spool import Spool
from workers.clock import boot_seconds
from workers.control_client.client import ControlClient

pytestmark = pytest.mark.anyio

LEASE_ID = "00000000-0000-4000-8000-000000000001"
TASK_ID = "00000000-0000-4000-8000-000000000002"


class Bench:
    """A claimed assignment and what is needed to run it."""

    def __init__(self, far_side: FarSide, client: ControlClient, spool: Spool) -> None:
        self.far_side = far_side
        self.client = client
        self.spool = spool
        self.execution = ScriptedExecution()
        self.reporter = Reporter(client, spool)
        self.lease = Lease(LEASE_ID, TASK_ID, "A", expires_at=0)
        self.clock = boot_seconds
        self.renewals = HostRenewal(client=client, clock=self.now)

    def now(self) -> float:
        """By the clock that a test may change at any time."""
        return self.clock()

    def claimed(self, **fields) -> ActiveAssignmentRunner:
        lease_seconds = self.far_side.lease_seconds
        self.lease.expires_at = time.monotonic() + lease_seconds
        self.far_side.leases[LEASE_ID] = self.lease
        assignment = Assignment.model_validate(wire_assignment(self.lease, lease_seconds) | fields)
        return ActiveAssignmentRunner(
            ClaimedAssignment(assignment, sent_at=self.clock(), held_ms=0),
            client=self.client,
            execution=self.execution,
            reporter=self.reporter,
            renewals=self.renewals,
            clock=self.clock,
        )

    def start(self, **fields) -> asyncio.Task[None]:
        return asyncio.create_task(self.claimed(**fields).run())

    @property
    def report(self) -> dict:
        return self.lease.result


@pytest.fixture
async def bench(far_side, tmp_path):
    async with ControlClient(far_side.url, host_id=HOST_ID, credential="made-up") as client:
        bench = Bench(far_side, client, Spool(tmp_path))
        renewals = asyncio.create_task(bench.renewals.run())
        yield bench
        renewals.cancel()
        await asyncio.wait({renewals})


async def test_a_run_is_reported_once_it_is_done(bench, far_side):
    run = bench.start()
    await until(lambda: any(call.body["progress"]["step"] > 0 for call in far_side.renewals_of(LEASE_ID)))
    bench.execution.finish.set()
    await run
    assert bench.report["status"] == "done"
    assert bench.report["progress"]["checkpoint"] == "done"
    assert bench.spool.waiting() == []


async def test_a_cancel_that_the_claim_already_carries_starts_nothing(bench):
    bench.lease.cancel_requested = True
    await bench.start()
    assert bench.execution.begun == []
    assert (bench.report["status"], bench.report["stopped_by"]) == ("cancelled", "before_start")
    assert bench.lease.seen_at is not None


async def test_a_cancel_between_the_claim_and_the_first_renewal_starts_nothing(bench):
    runner = bench.claimed()
    bench.lease.cancel_requested = True
    await runner.run()
    assert bench.execution.begun == []
    assert (bench.report["status"], bench.report["stopped_by"]) == ("cancelled", "before_start")
    assert bench.lease.seen_at is not None


async def test_a_first_renewal_that_gets_no_answer_does_not_hold_the_run_up_for_long(bench, far_side):
    far_side.lease_seconds = 1.2
    far_side.order("renew", Hanging)
    run = bench.start()
    await until(lambda: bench.execution.begun)
    bench.execution.finish.set()
    await run
    assert bench.report["status"] == "done"


async def test_a_cancel_in_the_run_is_heard_seen_and_reported_as_cancelled(bench, far_side):
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    bench.lease.cancel_requested = True
    await run
    assert (bench.report["status"], bench.report["stopped_by"]) == ("cancelled", "step_boundary")
    assert bench.report["failure_reason"].startswith("cancellation requested by control plane")
    seen = next(index for index, call in enumerate(far_side.calls) if call.body.get("cancel_seen"))
    reported = next(index for index, call in enumerate(far_side.calls) if call.route == "result")
    assert seen < reported


async def test_a_cancelled_run_may_still_clean_up(bench):
    may_touch = []

    async def clean_up(guard):
        may_touch.append(guard.may_touch())

    bench.execution.clean_up = clean_up
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    bench.lease.cancel_requested = True
    await run
    assert may_touch == [True]


async def test_success_wins_over_a_cancel_that_came_too_late(bench):
    async def script(*_, guard, **__):
        bench.lease.cancel_requested = True
        await guard.stopped.wait()
        return AssignmentExecutionResult(status="done")

    bench.execution.script = script
    await bench.start()
    assert bench.report["status"] == "done"


async def test_an_error_after_the_cancel_was_seen_is_cancelled_with_the_error_attached(bench):
    async def script(*_, guard, **__):
        bench.lease.cancel_requested = True
        await guard.stopped.wait()
        raise RuntimeError("the screen was gone")

    bench.execution.script = script
    await bench.start()
    assert bench.report["status"] == "cancelled"
    assert "the screen was gone" in bench.report["failure_reason"]


async def test_a_failure_before_the_cancel_was_seen_stays_a_failure(bench):
    async def script(*_, **__):
        bench.lease.cancel_requested = True
        return AssignmentExecutionResult(status="failed", cause=FailureCause.TASK, failure_reason="no such button")

    bench.execution.script = script
    await bench.start()
    assert (bench.report["status"], bench.report["cause"]) == ("failed", "task")


async def test_the_host_never_says_cancelled_unless_it_was_told(bench):
    async def script(*_, **__):
        return AssignmentExecutionResult(status="cancelled")

    bench.execution.script = script
    await bench.start()
    assert (bench.report["status"], bench.report["cause"]) == ("failed", "infrastructure")
    assert "nobody asked to cancel" in bench.report["failure_reason"]


async def test_a_run_whose_lease_is_lost_touches_nothing_more(bench, far_side):
    run = bench.start()
    await until(lambda: bench.execution.touched_at and far_side.made("renew_all"))
    renewals = len(far_side.renewals_of(LEASE_ID))
    bench.lease.is_ended = True
    ended_at = time.monotonic()
    await until(lambda: bench.execution.settled)
    await run
    assert max(bench.execution.touched_at) < ended_at + 0.25
    assert not bench.execution.guards["A"].may_touch()
    assert len(far_side.renewals_of(LEASE_ID)) == renewals


async def test_the_late_report_of_a_lost_lease_is_kept_as_evidence(bench, far_side, tmp_path):
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    bench.lease.is_ended = True
    await run
    assert len(far_side.made("result")) == 1
    kept = (tmp_path / "refused" / f"{LEASE_ID}.json").read_text()
    assert "lease rejected by control plane" in kept
    assert "stale_lease" in kept
    assert bench.spool.waiting() == []


async def test_a_host_that_hears_nothing_stops_before_its_lease_could_end(bench, far_side):
    far_side.lease_seconds = 1.0
    run = bench.start()
    await until(lambda: far_side.made("renew_all") and bench.execution.touched_at)
    far_side.is_away = True
    await until(lambda: bench.execution.settled)
    assert max(bench.execution.touched_at) < bench.lease.expires_at - 0.05
    assert bench.execution.guards["A"].reason is StopReason.LEASE_DEADLINE
    far_side.is_away = False
    await run


async def test_a_proxy_that_answers_for_the_control_plane_neither_ends_nor_extends_a_run(bench, far_side):
    far_side.lease_seconds = 2.4
    far_side.order("renew", *[Page(404), Page(403), Page(200), Dropped, Page(409)])
    run = bench.start()
    await until(lambda: len(far_side.made("renew")) > 5)
    assert not bench.execution.guards["A"].should_stop()
    bench.execution.finish.set()
    await run
    assert bench.report["status"] == "done"


async def test_a_machine_that_slept_through_its_lease_touches_nothing_after_it(bench):
    slept_seconds = 0.0
    bench.clock = lambda: boot_seconds() + slept_seconds
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    touches = len(bench.execution.touched_at)
    slept_seconds = 3600.0
    await run
    assert len(bench.execution.touched_at) == touches


async def test_the_lease_is_renewed_until_the_report_is_acknowledged(bench, far_side):
    far_side.lease_seconds = 1.2
    far_side.order("result", Page(502), Dropped, Page(403))
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    bench.execution.finish.set()
    await until(lambda: far_side.made("result"))
    renewals = len(far_side.renewals_of(LEASE_ID))
    await until(lambda: len(far_side.made("result")) == 3)
    assert len(far_side.renewals_of(LEASE_ID)) > renewals
    assert bench.spool.waiting() != []
    await run
    assert bench.report["status"] == "done"
    assert bench.spool.waiting() == []


async def test_a_report_whose_acknowledgement_was_lost_is_sent_again_and_counts_once(bench, far_side):
    far_side.order("result", Lost)
    run = bench.start()
    bench.execution.finish.set()
    await run
    assert len(far_side.made("result")) == 2
    assert far_side.made("result")[0].body == far_side.made("result")[1].body
    assert bench.spool.waiting() == []


async def test_the_report_is_on_disk_before_it_is_sent(bench, far_side):
    spooled = []
    bench.execution.finish.set()
    with on("result.spooled", lambda: spooled.append((bench.spool.waiting(), far_side.made("result")))):
        await bench.start()
    [(waiting, sent)] = spooled
    assert str(waiting[0].lease_id) == LEASE_ID
    assert sent == []


async def test_a_full_disk_costs_no_report(bench, tmp_path):
    bench.spool._folder = tmp_path / "gone"
    bench.execution.finish.set()
    await bench.start()
    assert bench.report["status"] == "done"


async def test_a_defect_of_ours_is_reported_as_infrastructure(bench):
    async def script(*_, **__):
        raise ZeroDivisionError("\x00 \ud800 " + "x" * 10_000)

    bench.execution.script = script
    await bench.start()
    assert (bench.report["status"], bench.report["cause"]) == ("failed", "infrastructure")
    assert "ZeroDivisionError" in bench.report["failure_reason"]
    assert len(bench.report["failure_reason"]) == 4000


async def test_a_result_that_cannot_be_sent_as_it_is_is_made_to_fit(bench):
    async def script(*_, on_progress, **__):
        on_progress(Progress.model_construct(step=1, text="\x00" * 600, checkpoint="running", steps_total=None))
        return AssignmentExecutionResult(status="done", result={"warnings": ["\x00", "\ud800"], "n": 1})

    bench.execution.script = script
    await bench.start()
    assert bench.report["result"] == {"warnings": ["\N{REPLACEMENT CHARACTER}", "?"], "n": 1}
    assert len(bench.report["progress"]["text"]) == 500


async def test_a_result_that_nests_without_end_or_counts_beyond_64_bits_is_made_to_fit(bench):
    nest: dict = {"n": 10**30, "long": 10**5000, "least": -(2**63) + 1}
    for _ in range(100):
        nest = {"in": [nest]}

    async def script(*_, **__):
        return AssignmentExecutionResult(status="done", result={"deep": nest, "n": 10**30, "long": 10**5000})

    bench.execution.script = script
    await bench.start()
    result = bench.report["result"]
    assert (result["n"], result["long"][:2]) == (str(10**30), "0x")
    read_json(json.dumps(bench.report).encode())


async def test_what_makes_a_result_too_large_is_replaced_by_a_sentence_and_the_rest_stays(bench):
    claim = {"status": "success", "output": {"found": {str(number): "x" * 1000 for number in range(1000)}}}

    async def script(*_, **__):
        return AssignmentExecutionResult(status="done", result={"claim": claim, "warnings": ["y" * 1000] * 1000})

    bench.execution.script = script
    await bench.start()
    result = bench.report["result"]
    assert result["claim"]["status"] == "success"
    assert result["claim"]["output"]["found"].startswith("omitted: with it, the result has ")
    assert result["warnings"].startswith("omitted: ")


async def test_a_run_that_takes_too_long_is_stopped(bench):
    async def script(*_, guard, **__):
        await guard.stopped.wait()
        assert guard.may_touch()
        return stopped(guard)

    bench.execution.script = script
    await bench.start(timeout_seconds=1)
    assert bench.report["failure_reason"].startswith("task ran longer than its timeout_seconds")


async def test_an_artifact_that_cannot_be_stored_is_named_in_the_result(bench, far_side):
    async def script(*_, on_artifact, **__):
        await on_artifact("home.png", b"png", "image/png")
        far_side.always["artifact"] = Page(502)
        await on_artifact("lost.png", b"png", "image/png")
        return AssignmentExecutionResult(status="done")

    bench.execution.script = script
    await bench.start()
    assert list(far_side.artifacts) == ["home.png"]
    assert bench.report["result"] == {"artifacts_missing": ["lost.png"]}


async def test_a_stopped_run_that_could_not_store_one_artifact_tries_no_other(bench, far_side):
    async def script(*_, guard, on_artifact, **__):
        far_side.always["artifact"] = Page(502)
        guard.stop(StopReason.HOST_SHUTDOWN)
        for number in range(50):
            await on_artifact(f"{number}.png", b"png", "image/png")
        return stopped(guard)

    bench.execution.script = script
    await bench.start()
    assert sum(call.route == "artifact" for call in far_side.calls) == 1
    assert len(bench.report["result"]["artifacts_missing"]) == 50


@pytest.mark.parametrize("call", ["renew", "renew_all"])
async def test_a_broken_renewal_does_not_cut_off_the_run(bench, far_side, monkeypatch, call):
    far_side.lease_seconds = 1.2
    far_side.renews_together = call == "renew_all"
    renew = getattr(bench.client, call)
    times = 0

    async def broken_once(*args, lease_seconds):
        nonlocal times
        times += 1
        if times == 2:
            raise ZeroDivisionError
        return await renew(*args, lease_seconds=lease_seconds)

    monkeypatch.setattr(bench.client, call, broken_once)
    run = bench.start()
    await until(lambda: times > 3)
    bench.execution.finish.set()
    await run
    assert bench.report["status"] == "done"
