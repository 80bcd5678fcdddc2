"""A host against a control plane that speaks the wire: starts, claims, drains, ends."""

import asyncio
import itertools
import json
import threading
import time
import uuid

import pytest

from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.tasks import Progress
from tests.workers.host.far_side import Dropped, Lost, Page, problem, until
from tests.workers.host.scripted import ScriptedFleet
from workers.assignment import reporter
from workers.assignment.execution import AssignmentExecutionResult
from workers.assignment.spool import SpooledReport
from workers.host.life import ExitCode

pytestmark = pytest.mark.anyio


# Claims


async def test_nothing_is_claimed_before_the_heartbeat_is_acknowledged(bench, far_side):
    far_side.order("heartbeat", Page(502), Dropped)
    bench.start()
    await until(lambda: far_side.made("claim"))
    routes = [call.route for call in far_side.calls]
    assert routes[:4] == ["heartbeat", "heartbeat", "heartbeat", "claim"]
    heartbeat = far_side.calls[0].body
    assert heartbeat["incarnation"] == far_side.made("claim")[0].body["incarnation"]
    assert [device["serial"] for device in heartbeat["devices"]] == ["A", "B"]
    assert heartbeat["supported_commands"] == ["back"]


async def test_a_claim_whose_reply_was_lost_is_asked_again_by_the_same_id(bench, far_side):
    far_side.order("claim", Lost, Page(200), Lost)
    task_id = far_side.submit("A")
    bench.execution.finish.set()
    bench.start()
    await until(lambda: far_side.leases and bench.report_of(task_id))
    ids = [call.body["claim_id"] for call in far_side.made("claim")]
    assert len(set(ids[:4])) == 1
    assert ids[4] != ids[0]
    assert bench.execution.begun == ["A"]
    assert len(far_side.leases) == 1


async def test_a_repeated_claim_carries_a_cancel_that_came_meanwhile(bench, far_side):
    far_side.on_call = lambda call: call.route == "claim" and far_side.leases and far_side.cancel(task_id)
    far_side.order("claim", Lost)
    task_id = far_side.submit("A")
    bench.start()
    await until(lambda: far_side.leases and bench.report_of(task_id))
    assert bench.execution.begun == []
    assert bench.report_of(task_id)["stopped_by"] == "before_start"


async def test_under_a_control_plane_that_knows_no_cancel_tasks_run_to_their_end(bench, far_side):
    async def script(_assignment, *, on_artifact, on_progress, **_):
        await on_artifact("shot.png", b"png", "image/png")
        on_progress(Progress(step=1, text="looks"))
        await bench.execution.finish.wait()
        return AssignmentExecutionResult(status="done")

    bench.execution.script = script
    far_side.knows_cancels = False
    bench.start()
    task_id = far_side.submit("A")
    await until(lambda: bench.execution.begun)
    far_side.cancel(task_id)
    lease = far_side.lease_of(task_id)
    await until(lambda: len(far_side.made("renew")) > 3 and 1 in far_side.steps_told(task_id))
    bench.execution.finish.set()
    await until(lambda: bench.report_of(task_id))
    assert bench.report_of(task_id)["status"] == "done"
    assert (lease.seen_at, far_side.expired) == (None, [])
    second = far_side.submit("A")
    await until(lambda: len(bench.execution.settled) == 2 and bench.report_of(second))


async def test_only_ready_and_free_devices_are_offered(bench, far_side):
    bench.fleet.plug("B", state=DeviceState.UNAUTHORIZED)
    bench.start()
    await bench.run_a_task("A")
    claims = len(far_side.made("claim"))
    bench.fleet.plug("C")
    await until(lambda: len(far_side.made("claim")) > claims)
    assert far_side.made("claim")[0].body["free_devices"] == ["A"]
    assert far_side.made("claim")[-1].body["free_devices"] == ["C"]


async def test_a_device_that_comes_while_a_poll_is_held_is_offered_at_once(bench, far_side):
    bench.start()
    await until(lambda: far_side.made("claim"))
    bench.fleet.plug("C")
    far_side.submit("C")
    await until(lambda: "C" in bench.execution.begun, seconds=3)
    first, second = far_side.made("claim")[:2]
    assert first.body["claim_id"] == second.body["claim_id"]
    await until(lambda: far_side.made("heartbeat")[-1].body["devices"][-1]["serial"] == "C")


async def test_a_device_is_offered_again_only_after_its_report_was_acknowledged(bench, far_side):
    bench.fleet = ScriptedFleet("A")
    bench.start()
    far_side.always["result"] = Page(502)
    task_id = await bench.run_a_task("A")
    bench.execution.finish.set()
    await until(lambda: far_side.made("result"))
    claims = len(far_side.made("claim"))
    await until(lambda: len(far_side.made("result")) > 2)
    assert len(far_side.made("claim")) == claims
    del far_side.always["result"]
    await until(lambda: len(far_side.made("claim")) > claims)
    assert bench.report_of(task_id)["status"] == "done"


async def test_all_devices_work_at_the_same_time(bench, far_side):
    bench.start()
    far_side.submit("A")
    far_side.submit("B")
    await until(lambda: len(bench.execution.begun) == 2)
    assert bench.execution.settled == []


async def test_a_device_that_hangs_in_its_thread_holds_up_no_renewal_and_no_other_device(bench, far_side):
    release = threading.Event()

    async def script(assignment, **_):
        if assignment.device_serial == "A":
            await asyncio.gather(*(asyncio.to_thread(release.wait) for _ in range(40)))
        return AssignmentExecutionResult(status="done")

    bench.execution.script = script
    bench.start()
    hanging = far_side.submit("A")
    await until(lambda: "A" in bench.execution.begun)
    far_side.cancel(hanging)
    await until(lambda: far_side.lease_of(hanging).seen_at)
    far_side.submit("B")
    await until(lambda: "B" in bench.execution.settled)
    release.set()
    await until(lambda: bench.report_of(hanging))


async def test_a_claim_for_a_device_that_is_still_busy_is_not_run(bench, far_side):
    bench.start()
    await bench.run_a_task("A")
    task_id = far_side.submit(None, device_serial="A")
    await until(lambda: any(lease.task_id == task_id and lease.result for lease in far_side.leases.values()))
    report = bench.report_of(task_id)
    assert (report["status"], report["cause"]) == ("failed", "infrastructure")
    assert bench.execution.begun == ["A"]


# Lives


async def test_the_spool_of_a_former_life_is_delivered_before_the_next_is_announced(bench, far_side):
    former = SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    bench.spool.put(former)
    far_side.order("result", Page(502), Dropped)
    bench.start()
    await until(lambda: far_side.made("heartbeat"))
    assert [call.route for call in far_side.calls][:4] == ["result", "result", "result", "heartbeat"]
    assert bench.spool.waiting() == []


async def test_a_report_that_the_control_plane_cannot_judge_holds_up_no_start_and_is_sent_on(
    bench, far_side, monkeypatch
):
    monkeypatch.setattr(reporter, "ANSWERS_WITHOUT_VERDICT", 3)
    monkeypatch.setattr(reporter, "backoff_seconds", lambda: itertools.repeat(0.1))
    former = SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    bench.spool.put(former)
    crash = Page(500, json.dumps(problem(500, "internal_error")[1]))
    far_side.order("result", crash, crash, Page(502), *[crash] * 4)
    bench.start()
    await bench.run_a_task("A")
    # The proxy's page may mean an outage: the count began anew behind it.
    assert [call.route for call in far_side.calls].index("heartbeat") >= 6
    # Known to nobody by now: the report is refused, and kept as evidence.
    await until(lambda: len(far_side.made("result")) == 8)
    await until(lambda: bench.spool.waiting() == [])


async def test_a_control_plane_that_is_not_ready_is_waited_for(bench, far_side, monkeypatch):
    monkeypatch.setattr(reporter, "ANSWERS_WITHOUT_VERDICT", 1)
    bench.spool.put(
        SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    )
    far_side.order("result", *[Page(503, json.dumps(problem(503, "not_ready")[1]))] * 3)
    bench.start()
    await until(lambda: far_side.made("heartbeat"))
    assert [call.route for call in far_side.calls][:5] == ["result"] * 4 + ["heartbeat"]


async def test_a_host_that_ends_leaves_a_report_that_cannot_be_judged_in_the_spool(bench, far_side, monkeypatch):
    monkeypatch.setattr(reporter, "ANSWERS_WITHOUT_VERDICT", 1)
    former = SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    bench.spool.put(former)
    far_side.always["result"] = Page(500, json.dumps(problem(500, "internal_error")[1]))
    running = bench.start()
    await until(lambda: far_side.made("claim"))
    bench.life.drain()
    assert await running is ExitCode.OK
    assert bench.spool.waiting() == [former]


async def test_a_host_that_is_told_to_end_while_it_delivers_the_spool_leaves_the_report_there(bench, far_side):
    former = SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    bench.spool.put(former)
    far_side.always["result"] = Page(502)
    running = bench.start()
    await until(lambda: far_side.made("result"))
    bench.life.drain()
    assert await running is ExitCode.OK
    assert bench.spool.waiting() == [former]
    assert far_side.made("heartbeat") == []


async def test_a_host_whose_later_life_has_spoken_ends_and_touches_nothing_more(bench, far_side):
    running = bench.start()
    await bench.run_a_task("A")
    far_side.incarnations.append(str(uuid.uuid4()))
    assert await running is ExitCode.REPLACED
    assert not bench.execution.guards["A"].may_touch()
    assert bench.execution.settled == ["A"]


async def test_a_host_that_the_control_plane_does_not_know_ends_with_a_word(bench, far_side):
    body = '{"type":"t","title":"t","status":401,"code":"unauthenticated","detail":"unknown credential"}'
    far_side.always["heartbeat"] = Page(401, body)
    assert await bench.start() is ExitCode.NOT_CONFIGURED


async def test_a_host_whose_spool_is_refused_for_its_credential_ends_and_keeps_the_spool(bench, far_side):
    body = '{"type":"t","title":"t","status":401,"code":"unauthenticated","detail":"unknown credential"}'
    bench.spool.put(
        SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
    )
    far_side.always["result"] = Page(401, body)
    assert await bench.start() is ExitCode.NOT_CONFIGURED
    assert len(bench.spool.waiting()) == 1


async def test_a_host_that_was_let_in_goes_on_when_a_credential_is_refused_later(bench, far_side):
    body = '{"type":"t","title":"t","status":401,"code":"unauthenticated","detail":"unknown credential"}'
    bench.start()
    task_id = await bench.run_a_task("A")
    far_side.order("heartbeat", *[Page(401, body)] * 2)
    far_side.order("renew_all", *[Page(401, body)] * 2)
    heartbeats = len(far_side.made("heartbeat"))
    await until(lambda: len(far_side.made("heartbeat")) > heartbeats + 3)
    bench.execution.finish.set()
    await until(lambda: bench.report_of(task_id))
    assert bench.report_of(task_id)["status"] == "done"


async def test_an_outage_ends_no_run_that_outlives_it(bench, far_side):
    bench.start()
    task_id = await bench.run_a_task("A")
    far_side.is_away = True
    await asyncio.sleep(0.6)
    far_side.is_away = False
    bench.execution.finish.set()
    await until(lambda: bench.report_of(task_id))
    assert bench.report_of(task_id)["status"] == "done"
    far_side.submit("B")
    await until(lambda: "B" in bench.execution.begun)


# Drains


async def test_an_operators_drain_stops_claims_until_it_is_taken_back(bench, far_side):
    far_side.drain_requested = True
    bench.start()
    await until(lambda: len(far_side.made("heartbeat")) >= 2)
    far_side.submit("A")
    await until(lambda: len(far_side.made("heartbeat")) >= 3)
    assert far_side.leases == {}
    far_side.drain_requested = False
    await until(lambda: "A" in bench.execution.begun)


async def test_an_operators_drain_ends_a_poll_that_is_held(bench, far_side):
    bench.start()
    await until(lambda: far_side.made("claim"))
    far_side.drain_requested = True
    await until(lambda: len(far_side.made("claim")) > 1)
    last = far_side.made("claim")[-1].body
    assert (last["free_devices"], last["wait_ms"]) == ([], 0)
    assert last["claim_id"] == far_side.made("claim")[0].body["claim_id"]


async def test_a_host_drained_for_five_lease_times_loses_nothing(bench, far_side):
    far_side.lease_seconds = 0.8
    running = bench.start()
    task_id = await bench.run_a_task("A")
    bench.life.drain()
    ends_at = time.monotonic() + 5 * far_side.lease_seconds
    await until(lambda: time.monotonic() > ends_at)
    heartbeats = len(far_side.made("heartbeat"))
    assert far_side.expired == []
    assert heartbeats > 5
    assert not running.done()
    bench.execution.finish.set()
    assert await running is ExitCode.OK
    assert bench.report_of(task_id)["status"] == "done"
    assert far_side.calls[-1].route == "heartbeat"
    assert far_side.calls[-1].body["draining"]


async def test_a_draining_host_claims_no_more(bench, far_side):
    bench.start()
    await bench.run_a_task("A")
    bench.life.drain()
    await until(lambda: far_side.made("heartbeat")[-1].body["draining"])
    far_side.submit("B")
    heartbeats = len(far_side.made("heartbeat"))
    await until(lambda: len(far_side.made("heartbeat")) > heartbeats + 1)
    assert bench.execution.begun == ["A"]
    assert len(far_side.leases) == 1


async def test_a_cancel_reaches_a_draining_host(bench, far_side):
    running = bench.start()
    task_id = await bench.run_a_task("A")
    bench.life.drain()
    await until(lambda: far_side.made("heartbeat")[-1].body["draining"])
    far_side.cancel(task_id)
    assert await running is ExitCode.OK
    assert bench.report_of(task_id)["status"] == "cancelled"


async def test_work_that_outlasts_the_drain_limit_is_stopped_as_infrastructure(bench, far_side):
    bench.drain_limit_seconds = 0.3
    running = bench.start()
    task_id = await bench.run_a_task("A")
    bench.life.drain()
    assert await running is ExitCode.OK
    report = bench.report_of(task_id)
    assert (report["status"], report["cause"]) == ("failed", "infrastructure")
    assert report["failure_reason"].startswith("host shut down")


async def test_an_assignment_that_was_claimed_as_the_drain_began_is_run(bench, far_side):
    far_side.order("claim", Lost)
    task_id = far_side.submit("A")
    far_side.on_call = lambda call: call.route == "claim" and threading.Timer(0, bench.life.drain).start()
    bench.execution.finish.set()
    assert await bench.start() is ExitCode.OK
    assert bench.report_of(task_id)["status"] == "done"


async def test_an_idle_host_that_drains_ends_at_once(bench, far_side):
    running = bench.start()
    await until(lambda: far_side.made("claim"))
    bench.life.drain()
    async with asyncio.timeout(3):
        assert await running is ExitCode.OK


async def test_an_idle_host_that_drains_and_reaches_nobody_ends_within_a_third_of_a_lease(bench, far_side):
    far_side.lease_seconds = 1.2
    running = bench.start()
    await until(lambda: far_side.made("claim"))
    far_side.is_away = True
    bench.life.drain()
    async with asyncio.timeout(10):
        assert await running is ExitCode.OK


async def test_a_host_that_stops_now_reports_what_it_stopped(bench, far_side):
    running = bench.start()
    task_id = await bench.run_a_task("A")
    bench.life.stop_now()
    assert await running is ExitCode.OK
    assert bench.report_of(task_id)["cause"] == "infrastructure"
    assert bench.execution.settled == ["A"]


async def test_a_host_that_stops_now_and_reaches_nobody_leaves_its_report_in_the_spool(bench, far_side):
    running = bench.start()
    task_id = await bench.run_a_task("A")
    far_side.is_away = True
    bench.life.stop_now()
    assert await running is ExitCode.OK
    [left] = bench.spool.waiting()
    assert str(left.task_id) == task_id
    assert left.report.failure_reason.startswith("host shut down")
