import asyncio

import pytest

from tests.workers.run.far_side import FarDevice, Run, StopSwitch, screen
from workers.clock import boot_seconds
from workers.device.outcome import Done, ErrorCode, Failed, Unknown
from workers.run.lookup_times import LookupTimes
from workers.run.stop import CANCELLATION_REASON, INTERRUPTED_REASON, Interrupted, Stop

pytestmark = pytest.mark.anyio

LEASE_REJECTED = "lease rejected by control plane"
THREE = "- back\n- scroll\n- hideKeyboard"
#: Maestro's own times: what ends soon with these was ended by the stop.
LONG = LookupTimes()


def stopped_run(commands, device, reason=CANCELLATION_REASON, **keywords):
    switch = StopSwitch(reason)
    return Run(commands, device, switch=switch, **keywords), switch


async def test_a_run_that_is_cancelled_before_its_first_step_does_nothing():
    made, switch = stopped_run(THREE, FarDevice())
    switch.press()
    result = await made.end()
    assert (result.status, result.cause, result.steps_finished) == ("cancelled", None, 0)
    assert result.failure_reason == f"{CANCELLATION_REASON}: stopped before step 1 of 3 (flow.yaml:3, back)"
    assert (made.device.actions, made.device.pictures, result.artifacts) == ([], 0, ())
    assert [(point.step, point.status) for point in made.checkpoints] == [(0, "cancelled")]


async def test_an_action_in_flight_ends_and_no_step_follows():
    device = FarDevice()
    made, switch = stopped_run(THREE, device)
    device.on_action = switch.press
    result = await made.end()
    assert (result.status, result.steps_finished, len(device.actions)) == ("cancelled", 1, 1)
    assert "stopped before step 2 of 3 (flow.yaml:4, scroll)" in result.failure_reason
    assert [(point.step, point.status) for point in made.checkpoints] == [(1, "running"), (1, "cancelled")]


async def test_success_wins_over_a_stop_that_comes_in_the_last_step():
    device = FarDevice()
    made, switch = stopped_run("- back", device)
    device.on_action = switch.press
    result = await made.end()
    assert (result.status, result.failure_reason) == ("done", None)


@pytest.mark.parametrize(
    ("reason", "told"), [(LEASE_REJECTED, LEASE_REJECTED), (None, INTERRUPTED_REASON), ("", INTERRUPTED_REASON)]
)
async def test_a_stop_for_another_reason_is_a_failure_of_infrastructure(reason, told):
    made, switch = stopped_run(THREE, FarDevice(), reason)
    switch.press()
    result = await made.end()
    assert (result.status, result.cause) == ("failed", "infrastructure")
    assert result.failure_reason.startswith(f"{told}: stopped before step 1 of 3")
    assert made.checkpoints[-1].status == "failed"


@pytest.mark.parametrize(
    "commands",
    [
        "- tapOn: Nowhere",
        "- tapOn: {text: Nowhere, optional: true}\n- back",
        "- assertVisible: Nowhere",
        "- assertNotVisible: Login",
        "- extendedWaitUntil: {visible: Nowhere, timeout: 600000}",
        "- runFlow: {when: {visible: Nowhere}, commands: [back]}",
        "- scrollUntilVisible: {element: Nowhere}",
        "- tapOn: {text: Login, repeat: 2, delay: 600000}",
        "- retry: {maxRetries: 3, commands: [{tapOn: Nowhere}]}",
        "- runFlow: {optional: true, commands: [{tapOn: Nowhere}]}\n- back",
    ],
)
async def test_a_step_that_only_waits_ends_when_asked(commands):
    made, switch = stopped_run(commands, FarDevice(), times=LONG)
    has_looked = asyncio.Event()
    made.device.on_look = lambda _: has_looked.set()
    running = asyncio.create_task(made.end())
    await has_looked.wait()
    begun = boot_seconds()
    switch.press()
    result = await running
    assert boot_seconds() - begun < 5
    assert result.status == "cancelled"
    assert "stopped in step" in result.failure_reason
    assert "KEYCODE_BACK" not in repr(made.device.actions)


async def test_waiting_for_animations_ends_when_asked():
    restless = FarDevice(*(screen() for _ in range(3)), screen())
    made, switch = stopped_run("- waitForAnimationToEnd\n- back", restless, times=LookupTimes(poll_seconds=600))
    restless.on_look = switch.press
    result = await made.end()
    assert (result.status, result.steps_finished) == ("cancelled", 0)


async def test_a_stop_without_an_event_is_noticed_in_a_wait():
    asked = []
    made = Run("- tapOn: Nowhere", FarDevice(), times=LONG, should_stop=lambda: len(asked) > 2 or asked.append(1))
    result = await made.end()
    assert result.failure_reason.startswith(f"{INTERRUPTED_REASON}: stopped in step 1 of 1")


@pytest.mark.parametrize(
    "outcome",
    [
        Failed(ErrorCode.TRANSPORT_LOST, "closed"),
        Unknown(ErrorCode.TIMEOUT, "no answer"),
        Failed(ErrorCode.LEASE_LOST, "may not touch"),
    ],
)
@pytest.mark.parametrize("command", ["- back", "- back: {optional: true}\n- back", "- retry: {commands: [back]}"])
async def test_what_fails_after_the_stop_was_asked_for_ends_as_the_stop_says_with_the_error_attached(outcome, command):
    device = FarDevice(outcomes=[outcome])
    made, switch = stopped_run(command, device)
    device.on_action = switch.press
    result = await made.end()
    assert (result.status, len(device.actions), device.pictures) == ("cancelled", 1, 0)
    assert result.failure_reason.startswith(CANCELLATION_REASON)
    assert outcome.message in result.failure_reason


async def test_a_failure_before_the_stop_stays_a_failure():
    device = FarDevice(outcomes=[Done(), Failed(ErrorCode.COMMAND_FAILED, "no")])
    made, switch = stopped_run(THREE, device)
    assert (await made.end()).status == "failed"
    switch.press()
    assert (await made.end()).status == "cancelled"


async def test_a_lost_lease_that_only_the_device_knows_of_is_infrastructure_and_the_device_is_left_alone():
    device = FarDevice(outcomes=[Failed(ErrorCode.LEASE_LOST, "may not touch")])
    made, _ = stopped_run(THREE, device)
    result = await made.end()
    assert (result.status, result.cause, len(device.actions), device.pictures) == ("failed", "infrastructure", 1, 0)


async def test_a_stop_that_was_seen_stays():
    answers = iter([True, False])
    stop = Stop(lambda: next(answers))
    assert stop.is_asked
    assert stop.is_asked


async def test_an_event_without_a_stop_does_not_spin():
    event = asyncio.Event()
    event.set()
    looks = []
    stop = Stop(lambda: looks.append(1) or False, stopped=event)
    await stop.wait(0.3)
    assert len(looks) < 12


async def test_a_wait_ends_at_once_when_the_run_is_to_stop():
    with pytest.raises(Interrupted):
        await Stop(lambda: True).wait(600)
