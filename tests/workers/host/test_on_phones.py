"""The whole host, as its entry point makes it, with a real adb server and emulated phones."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.workers.host.far_side import FarSide, Page, until
from workers.host.main import run_host
from workers.host.settings import HostSettings
from workers.phone.adbd.connection import LinkState
from workers.phone.fleet import phones

pytestmark = pytest.mark.anyio

APPS = Path(__file__).parents[2] / "apps"

SHORT_FLOW = """\
appId: com.example.example
---
- launchApp
- tapOn: Input Test
- takeScreenshot: input
"""
#: Acts without looking: a look would wait for a phone to come back.
LONG_FLOW = """\
appId: com.example.example
---
- launchApp
- repeat:
    times: 2000
    commands:
      - pressKey: volume up
"""
WAITING_FLOW = """\
appId: com.example.example
---
- launchApp
- extendedWaitUntil:
    visible: never to be seen
    timeout: 60000
"""


class Bench:
    def __init__(self, far_side: FarSide, fleet) -> None:
        self.far_side = far_side
        self.phones = {phone.serial: phone for phone in fleet.phones}

    async def reported(self, task_id: str) -> dict:
        await until(lambda: self._lease(task_id) and self._lease(task_id).result)
        return self._lease(task_id).result

    async def busy(self, serial: str) -> str:
        """A task that does one small thing after the other."""
        actions = self.actions(serial)
        task_id = self.far_side.submit(serial, flow=LONG_FLOW)
        await until(lambda: self.actions(serial) > actions + 5)
        return task_id

    def actions(self, serial: str) -> int:
        return len(self.phones[serial].log.actions)

    def state_of(self, serial: str) -> str | None:
        devices = self.far_side.made("heartbeat")[-1].body["devices"]
        return next((device["state"] for device in devices if device["serial"] == serial), None)

    def _lease(self, task_id: str):
        return next((lease for lease in self.far_side.leases.values() if lease.task_id == task_id), None)


@pytest.fixture(scope="module")
def served_phones():
    with phones(count=2, apps=[APPS]) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def control_plane():
    side = FarSide(lease_seconds=3.0)
    side.start()
    yield side
    side.stop()


@pytest.fixture(scope="module")
async def bench(tmp_path_factory, anyio_backend, served_phones, control_plane):
    settings = HostSettings(
        api_url=control_plane.url,
        join_token="join",
        state_dir=tmp_path_factory.mktemp("host"),
        adb_connect=served_phones.addresses,
        adb_finds_usb=False,
        adb_finds_emulators=False,
        drain_limit_seconds=0,
    )
    host = asyncio.create_task(run_host(settings))
    bench = Bench(control_plane, served_phones)
    await until(
        lambda: control_plane.made("heartbeat") and all(bench.state_of(name) == "ready" for name in bench.phones)
    )
    yield bench
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        assert await host == 0


@pytest.fixture
def serial(bench) -> str:
    return next(iter(bench.phones))


async def test_a_flow_is_run_and_its_screenshot_stored(bench, serial):
    report = await bench.reported(bench.far_side.submit(serial, flow=SHORT_FLOW))
    assert (report["status"], report["failure_reason"]) == ("done", None)
    assert report["result"]["steps_finished"] == 3
    assert bench.far_side.artifacts["input.png"].startswith(b"\x89PNG")


async def test_a_heartbeat_tells_what_a_phone_says_of_itself(bench, serial):
    device = next(
        device for device in bench.far_side.made("heartbeat")[-1].body["devices"] if device["serial"] == serial
    )
    assert (device["model"], device["android_version"], device["battery_level"]) == ("Corral Phone", "15", 87)


async def test_after_a_cancelled_run_is_reported_nothing_more_is_done_to_the_phone(bench, serial):
    task_id = await bench.busy(serial)
    bench.far_side.cancel(task_id)
    report = await bench.reported(task_id)
    actions = bench.actions(serial)
    assert (report["status"], report["stopped_by"]) == ("cancelled", "step_boundary")
    heartbeats = len(bench.far_side.made("heartbeat"))
    await until(lambda: len(bench.far_side.made("heartbeat")) > heartbeats + 1)
    assert bench.actions(serial) == actions


async def test_a_cancel_ends_a_step_that_only_waits(bench, serial):
    task_id = bench.far_side.submit(serial, flow=WAITING_FLOW)
    await until(lambda: 2 in bench.far_side.steps_told(task_id))
    bench.far_side.cancel(task_id)
    assert (await bench.reported(task_id))["status"] == "cancelled"


async def test_a_run_whose_lease_was_lost_leaves_the_phone_alone(bench, serial):
    task_id = await bench.busy(serial)
    answered = []
    lease = bench.far_side.lease_of(task_id)
    bench.far_side.on_call = lambda call: answered.append(call.route) if lease.is_ended else None
    lease.is_ended = True
    await until(lambda: {"renew", "renew_all"} & {*answered})
    results = len(bench.far_side.made("result"))
    actions = bench.actions(serial)
    await until(lambda: len(bench.far_side.made("result")) > results)
    assert bench.actions(serial) <= actions + 1


async def test_the_devices_time_out_is_the_tasks_own_failure(bench, serial):
    report = await bench.reported(bench.far_side.submit(serial, flow=WAITING_FLOW, timeout_seconds=1))
    assert (report["status"], report["cause"]) == ("failed", "task")
    assert report["failure_reason"].startswith("task ran longer than its timeout_seconds")


async def test_a_phone_that_goes_away_fails_its_run_as_infrastructure_and_no_other(bench, serial):
    _, other = bench.phones
    going, staying = await bench.busy(serial), await bench.busy(other)
    bench.phones[serial].link_state = LinkState.OFFLINE
    report = await bench.reported(going)
    assert (report["status"], report["cause"]) == ("failed", "infrastructure")
    await until(lambda: bench.state_of(serial) != "ready")
    await until(lambda: serial not in bench.far_side.made("claim")[-1].body["free_devices"])
    bench.phones[serial].link_state = LinkState.DEVICE
    await until(lambda: bench.state_of(serial) == "ready")
    bench.far_side.cancel(staying)
    assert (await bench.reported(staying))["status"] == "cancelled"


RESTING = {"kind": "goal", "goal": "Rest"}


@pytest.mark.parametrize(
    ("fields", "cause", "said"),
    [
        (RESTING, "infrastructure", "this host has no model for the goal"),
        ({"kind": "goal", "goal": "Rest", "agent": {"script": "- fly: 1\n"}}, "task", "cannot read the goal's script"),
        (
            {"kind": "goal", "goal": "Rest", "verify": "{}", "agent": {"script": "- say: a"}},
            "task",
            "needs a condition",
        ),
        (
            {"kind": "goal", "goal": "Rest", "agent": {"script": "- say: a", "secrets": ["PIN"]}},
            "infrastructure",
            "no secret of this name: PIN",
        ),
        ({"flow": "appId: com.example\n---\n- fly\n"}, "task", "unknown command `fly`"),
        ({"device_serial": "ELSEWHERE"}, "infrastructure", "device ELSEWHERE is not connected to this host"),
    ],
)
async def test_what_cannot_be_run_is_reported_with_its_reason(bench, serial, fields, cause, said):
    report = await bench.reported(bench.far_side.submit(serial, **fields))
    assert (report["status"], report["cause"]) == ("failed", cause)
    assert said in report["failure_reason"]


async def test_a_screenshot_that_cannot_be_stored_does_not_fail_the_run(bench, serial):
    bench.far_side.always["artifact"] = Page(413)
    report = await bench.reported(bench.far_side.submit(serial, flow=SHORT_FLOW))
    del bench.far_side.always["artifact"]
    assert report["status"] == "done"
    assert report["result"]["artifacts_missing"] == ["input.png"]
