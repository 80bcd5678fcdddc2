"""How a run ends on an emulated phone behind a real adb server, as the phone's own log tells it."""

import asyncio

import pytest

from tests.workers.run.far_side import Run, StopSwitch
from workers.device.device import Device
from workers.run.lookup_times import LookupTimes
from workers.run.stop import CANCELLATION_REASON

pytestmark = pytest.mark.anyio

APP = "com.example.example"


async def test_a_flow_that_is_cancelled_while_it_waits_touches_the_phone_no_more(demo_device, demo_phone_server):
    _, phone = demo_phone_server
    switch = StopSwitch(CANCELLATION_REASON)
    flow = f"- launchApp: {APP}\n- tapOn: Form Test\n- tapOn: Nowhere\n- back\n"
    made = Run(flow, demo_device, switch=switch, times=LookupTimes())
    running = asyncio.create_task(made.end())
    while not any(checkpoint.step == 3 for checkpoint in made.checkpoints):  # noqa: ASYNC110  the run sets no event
        await asyncio.sleep(0.01)
    switch.press()
    result = await running
    told = len(phone.phone.log.entries)
    assert (result.status, result.steps_finished) == ("cancelled", 2)
    assert result.failure_reason.startswith(f"{CANCELLATION_REASON}: stopped in step 3 of 4")
    await asyncio.sleep(0.1)
    assert len(phone.phone.log.entries) == told


async def test_a_run_whose_lease_is_lost_sends_nothing(demo_phone_server):
    adb_server, phone = demo_phone_server
    device = Device(server=adb_server, transport_serial=phone.address, may_touch=lambda: False)
    told = len(phone.phone.log.entries)
    result = await Run(f"- launchApp: {APP}\n- back\n", device).end()
    await device.close()
    assert (result.status, result.cause, result.steps_finished) == ("failed", "infrastructure", 0)
    assert "lease_lost" in result.failure_reason
    assert len(phone.phone.log.entries) == told


async def test_a_phone_that_is_not_there_is_infrastructure(demo_phone_server):
    adb_server, _ = demo_phone_server
    device = Device(server=adb_server, transport_serial="127.0.0.1:1", may_touch=lambda: True)
    result = await Run(f"- launchApp: {APP}\n", device).end()
    await device.close()
    assert (result.status, result.cause) == ("failed", "infrastructure")
