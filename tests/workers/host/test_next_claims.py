"""A host that takes tasks for several devices at once, and the next one with the answer to a report."""

import asyncio

import pytest

from corral.contract.fleet import DeviceState
from corral.contract.history import FailureCause
from tests.workers.host.far_side import Lost, Page, until
from workers.assignment.execution import AssignmentExecutionResult
from workers.host.life import ExitCode

pytestmark = pytest.mark.anyio


@pytest.fixture
def far_side(far_side):
    far_side.claims_with_reports = True
    return far_side


def results_of(bench, task_ids):
    leases = [lease for lease in bench.far_side.leases.values() if lease.task_id in task_ids and lease.result]
    return {lease.task_id: lease.result for lease in leases}


async def all_reported(bench, *task_ids):
    await until(lambda: len(results_of(bench, task_ids)) == len(task_ids))
    return [results_of(bench, task_ids)[task_id] for task_id in task_ids]


def next_claims(far_side):
    return [call.body.get("next_claim") for call in far_side.made("result")]


async def test_one_claim_takes_a_task_for_each_free_device(bench, far_side):
    far_side.submit("B")
    far_side.submit()
    bench.start()
    await until(lambda: len(bench.execution.begun) == 2)
    assert far_side.made("claim")[0].body["max_assignments"] == 2
    assert sorted(bench.execution.begun) == ["A", "B"]
    assert len(far_side.claims) == 1


async def test_the_next_task_comes_with_the_answer_to_the_report(bench, far_side):
    tasks = [far_side.submit("A") for _ in range(3)]
    bench.execution.finish.set()
    bench.start()
    assert [report["status"] for report in await all_reported(bench, *tasks)] == ["done"] * 3
    assert bench.execution.begun == ["A"] * 3
    await until(lambda: len(next_claims(far_side)) == 3)
    asked = next_claims(far_side)
    assert len({claim["claim_id"] for claim in asked}) == 3
    assert all((claim["free_devices"], claim["wait_ms"]) == (["A"], 0) for claim in asked)
    # One was claimed by a poll, two by reports.
    assert len(far_side.claims.keys() - {claim["claim_id"] for claim in asked}) == 1
    await until(lambda: far_side.made("claim")[-1].body["free_devices"] == ["A", "B"])


async def test_the_device_is_not_offered_between_two_runs(bench, far_side):
    bench.start()
    tasks = [await bench.run_a_task("A"), far_side.submit("A")]
    bench.execution.finish.set()
    await all_reported(bench, *tasks)
    last_report = far_side.made("result")[1]
    offers = [call.body["free_devices"] for call in far_side.made("claim") if call.at < last_report.at]
    assert offers == [["A", "B"], ["B"]]


async def test_an_answer_that_was_lost_is_asked_for_by_the_same_claim(bench, far_side):
    far_side.order("result", Lost, Page(502))
    tasks = [far_side.submit("A") for _ in range(2)]
    bench.execution.finish.set()
    bench.start()
    await all_reported(bench, *tasks)
    asked = next_claims(far_side)
    assert len({claim["claim_id"] for claim in asked[:3]}) == 1
    assert asked[3]["claim_id"] != asked[0]["claim_id"]
    assert bench.execution.begun == ["A", "A"]
    assert len(far_side.leases) == 2


async def test_what_a_lost_answer_gave_is_run_by_a_host_that_drains_meanwhile(bench, far_side):
    far_side.order("result", Lost)
    tasks = [far_side.submit("A") for _ in range(3)]
    loop = asyncio.get_running_loop()
    far_side.on_call = lambda call: call.route == "result" and loop.call_soon_threadsafe(bench.life.drain)
    bench.execution.finish.set()
    assert await bench.start() is ExitCode.OK
    assert list(results_of(bench, tasks)) == tasks[:2]
    asked = next_claims(far_side)
    assert [claim and claim["free_devices"] for claim in asked] == [["A"], [], None]
    assert asked[1]["claim_id"] == asked[0]["claim_id"]


async def test_what_comes_to_a_host_that_stops_is_reported_and_not_begun(bench, far_side):
    far_side.order("result", Lost)
    running = bench.start()
    tasks = [await bench.run_a_task("A"), far_side.submit("A")]
    loop = asyncio.get_running_loop()
    far_side.on_call = lambda call: call.route == "result" and loop.call_soon_threadsafe(bench.life.stop_now)
    bench.execution.finish.set()
    assert await running is ExitCode.OK
    done, stopped = await all_reported(bench, *tasks)
    assert done["status"] == "done"
    assert (stopped["cause"], stopped["failure_reason"]) == ("infrastructure", "host shut down")
    assert bench.execution.begun == ["A"]


async def test_a_draining_host_asks_for_nothing(bench, far_side):
    running = bench.start()
    task_id = await bench.run_a_task("A")
    bench.life.drain()
    far_side.submit("A")
    bench.execution.finish.set()
    assert await running is ExitCode.OK
    assert next_claims(far_side) == [None]
    assert bench.report_of(task_id)["status"] == "done"


async def test_a_device_that_is_not_ready_any_more_gets_nothing(bench, far_side):
    bench.start()
    task_id = await bench.run_a_task("A")
    bench.fleet.plug("A", state=DeviceState.OFFLINE)
    bench.execution.finish.set()
    await until(lambda: bench.report_of(task_id))
    assert next_claims(far_side) == [None]


async def test_a_run_that_failed_for_its_device_asks_for_no_other(bench, far_side):
    async def script(*_, **__):
        return AssignmentExecutionResult(status="failed", cause=FailureCause.INFRASTRUCTURE, failure_reason="adb")

    bench.execution.script = script
    task_id = far_side.submit("A")
    bench.start()
    await all_reported(bench, task_id)
    assert next_claims(far_side) == [None]


async def test_a_report_in_the_spool_asks_for_no_work(bench, far_side):
    far_side.always["result"] = Page(502)
    bench.start()
    await bench.run_a_task("A")
    bench.execution.finish.set()
    await until(lambda: far_side.made("result"))
    [spooled] = bench.spool.waiting()
    assert spooled.report.next_claim is None
    assert next_claims(far_side)[0]["free_devices"] == ["A"]
    del far_side.always["result"]


async def test_a_cancel_of_the_next_task_is_heard_before_it_begins(bench, far_side):
    tasks = [far_side.submit("A"), far_side.submit("A", cancel_requested=True)]
    bench.execution.finish.set()
    bench.start()
    _, cancelled = await all_reported(bench, *tasks)
    assert (cancelled["status"], cancelled["stopped_by"]) == ("cancelled", "before_start")
    assert bench.execution.begun == ["A"]
