"""What a host counts while it works, cancels and loses its control plane."""

import uuid
from collections.abc import Callable

import pytest
from prometheus_client import REGISTRY

from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.problems import Problem
from tests.workers.host.far_side import Dropped, until
from workers.assignment.spool import Spool, SpooledReport
from workers.device.command_line import command
from workers.device.outcome import ErrorCode
from workers.device.shell import Shell

pytestmark = pytest.mark.anyio


@pytest.fixture
def added() -> Callable[..., float]:
    """How much a row has grown since the test began."""
    before = {(one.name, *sorted(one.labels.items())): one.value for m in REGISTRY.collect() for one in m.samples}

    def added(name: str, **labels: str) -> float:
        now = REGISTRY.get_sample_value(name, labels)
        assert now is not None, "every row is shown from the start"
        return now - before[name, *sorted(labels.items())]

    return added


async def test_a_run_is_counted_from_its_claim_to_its_report(bench, far_side, added):
    far_side.order("heartbeat", Dropped)
    far_side.order("claim", Dropped)
    bench.execution.finish.set()
    task_id = far_side.submit("A")
    bench.start()
    await until(lambda: far_side.leases and bench.report_of(task_id))
    await until(lambda: added("corral_host_running_assignments") == 0)
    assert added("corral_host_attempts_total", outcome="done", cause="") == 1
    assert added("corral_host_assignments_total", given_by="poll") == 1
    assert added("corral_host_claims_total", outcome="given") == 1
    assert added("corral_host_claims_total", outcome="failed") == 1
    assert added("corral_host_heartbeats_total", outcome="failed") == 1
    assert added("corral_host_heartbeats_total", outcome="ok") >= 1
    assert added("corral_host_renewals_total", outcome="ok") >= 1
    assert added("corral_host_renewal_seconds_count") >= 1
    assert REGISTRY.get_sample_value("corral_host_devices", {"state": "ready"}) == 2
    assert REGISTRY.get_sample_value("corral_host_spooled_reports") == 0


async def test_a_cancelled_run_is_timed_from_the_moment_its_cancel_was_seen(bench, far_side, added):
    bench.fleet.plug("B", state=DeviceState.OFFLINE)
    bench.start()
    task_id = await bench.run_a_task("A")
    assert added("corral_host_running_assignments") == 1
    far_side.cancel(task_id)
    await until(lambda: bench.report_of(task_id))
    assert added("corral_host_attempts_total", outcome="cancelled", cause="") == 1
    assert added("corral_host_stop_seconds_count") == 1
    assert REGISTRY.get_sample_value("corral_host_devices", {"state": "offline"}) == 1


async def test_a_renewal_that_fails_is_counted_and_so_is_a_lost_lease(bench, far_side, added):
    far_side.order("renew", Dropped)
    bench.start()
    task_id = await bench.run_a_task("A")
    far_side.lease_of(task_id).is_ended = True
    await until(lambda: added("corral_host_renewals_total", outcome="stale") == 1)
    assert added("corral_host_renewals_total", outcome="failed") >= 1


def test_the_spool_is_as_deep_as_there_are_reports_on_disk(tmp_path, added):
    spool = Spool(tmp_path)
    reports = [
        SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=TerminalResultRequest(status="done"))
        for _ in range(3)
    ]
    for report in reports:
        spool.put(report)
    assert REGISTRY.get_sample_value("corral_host_spooled_reports") == 3
    spool.remove(reports[0].lease_id)
    problem = Problem(type="urn:x", title="no", status=409, code="stale_lease", detail="", request_id="1")
    spool.refuse(reports[1], problem)
    assert REGISTRY.get_sample_value("corral_host_spooled_reports") == 1
    assert added("corral_host_reports_refused_total") == 1
    Spool(tmp_path)
    assert REGISTRY.get_sample_value("corral_host_spooled_reports") == 1


def test_a_command_that_does_not_reach_its_phone_is_counted_by_why(added):
    shell = Shell(lambda: 1, "phone", lambda: True)
    answer = shell.ask(command("true"), deadline_seconds=1)
    assert answer.code is ErrorCode.TRANSPORT_LOST
    assert added("corral_host_adb_commands_total", outcome="transport_lost") == 1
