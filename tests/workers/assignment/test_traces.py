"""What a host tells of an attempt, as spans: which, of whom, and with nothing in them that a flow types or shows."""

import asyncio
from collections.abc import Generator
from uuid import UUID

import pytest

from corral.contract.host_protocol import TerminalResultRequest
from corral.traces.ids import root_of
from corral.traces.spans import FinishedSpan
from tests.trace_collector import recorded_spans
from tests.workers.assignment.test_runner import LEASE_ID, TASK_ID, Bench
from tests.workers.host.far_side import HOST_ID, until
from tests.workers.run.far_side import FarDevice
from workers.assignment.executor import AssignmentExecutor
from workers.assignment.spool import Spool, SpooledReport
from workers.control_client.client import ControlClient
from workers.device.outcome import Done, ErrorCode, Failed

pytestmark = pytest.mark.anyio

SECRET = "hunter2-in-a-flow"
ROOT = root_of(UUID(TASK_ID))
FLOW = f"""appId: com.example
---
- inputText: {{text: {SECRET}, label: type {SECRET}}}
- retry:
    maxRetries: 1
    commands:
      - takeScreenshot: {SECRET}
- back
"""


class ClosableDevice(FarDevice):
    async def close(self) -> None: ...


@pytest.fixture
def spans() -> Generator[list[FinishedSpan]]:
    with recorded_spans() as spans:
        yield spans


@pytest.fixture
async def bench(far_side, tmp_path):
    async with ControlClient(far_side.url, host_id=HOST_ID, credential="made-up") as client:
        bench = Bench(far_side, client, Spool(tmp_path))
        renewals = asyncio.create_task(bench.renewals.run())
        yield bench
        renewals.cancel()
        await asyncio.wait({renewals})


def children(spans: list[FinishedSpan], parent: FinishedSpan) -> list[str]:
    return [one.name for one in sorted(spans, key=lambda one: one.started_ns) if one.parent == parent.place]


async def test_an_attempt_holds_all_that_its_host_did_and_no_word_of_the_flow(bench, spans):
    device = ClosableDevice(outcomes=[Done(), Failed(ErrorCode.COMMAND_FAILED, f"no {SECRET}")])
    bench.execution = AssignmentExecutor(lambda _serial, _may_touch: device)
    await bench.start(flow=FLOW)
    by_name = {one.name: one for one in spans}
    attempt = by_name["attempt"]
    assert attempt.parent == ROOT
    assert children(spans, attempt) == [
        *("first renewal", "prepare", "step inputText", "step retry", "step back", "upload", "close device", "report")
    ]
    assert children(spans, by_name["step retry"]) == ["step takeScreenshot"]
    assert children(spans, by_name["step takeScreenshot"]) == ["upload"]
    assert (attempt.failure, attempt.attributes["outcome"], attempt.attributes["serial"]) == ("task", "failed", "A")
    assert [one.name for one in spans if one.failure] == ["step back", "attempt"]
    assert by_name["step back"].failure == ErrorCode.COMMAND_FAILED
    assert by_name["step back"].attributes == {"step": 4, "line": 8, "is_optional": False}
    assert SECRET not in repr(spans)


async def test_a_cancel_is_a_moment_of_the_attempt_that_it_stops(bench, spans):
    run = bench.start()
    await until(lambda: bench.execution.touched_at)
    bench.lease.cancel_requested = True
    await run
    attempt = next(one for one in spans if one.name == "attempt")
    ((moment, at_ns),) = attempt.moments
    assert moment == "cancel seen"
    assert attempt.started_ns < at_ns < attempt.ended_ns
    assert (attempt.attributes["outcome"], attempt.failure) == ("cancelled", None)


async def test_a_report_of_a_former_life_stands_below_the_task_itself(bench, spans):
    bench.claimed()
    report = TerminalResultRequest(status="done")
    bench.spool.put(SpooledReport(lease_id=UUID(LEASE_ID), task_id=UUID(TASK_ID), report=report))
    await bench.reporter.deliver_spool()
    assert [(one.name, one.parent, one.failure) for one in spans] == [("report", ROOT, None)]
