"""Maestro's own flows, unchanged, on an emulated phone behind a real adb server."""

import pytest

from corral.flow.parser import parse_flow
from tests.corral.flow.public_flows import ARE_HERE, FAILING, PASSING, path_of, source_of
from workers.run.lookup_times import LookupTimes
from workers.run.runner import WorkflowRunner

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ARE_HERE, reason="Maestro's flows are not beside the project"),
]

#: The phone has no animations to wait for.
SHORT = LookupTimes(element_seconds=0.6, optional_seconds=0.4, poll_seconds=0.05)

#: What the reason of a failing flow names.
REASONS = {
    "fail_launchApp": ("step 1 of 1 (fail_launchApp.yaml:5, launchApp com.nonexistent)", "app_not_installed"),
    "fail_launchApp_nonDefault": (
        "step 1 of 1 (fail_launchApp_nonDefault.yaml:5, launchApp com.nonexistent)",
        "app_not_installed",
    ),
    "fail_not_found": ("step 2 of 2 (fail_not_found.yaml:7, tapOn id non-existent-id)", "no element"),
    "fail_visible": ("step 2 of 2 (fail_visible.yaml:7, assertVisible id non-existent-id)", "no element"),
    "fail_visible_extended": (
        "step 2 of 2 (fail_visible_extended.yaml:7, extendedWaitUntil visible id non-existent-id)",
        "no element",
    ),
}


async def run(name, device):
    artifacts = {}

    async def keep(artifact, content, media_type):
        artifacts[artifact] = content

    runner = WorkflowRunner(
        parse_flow(source_of(name), name=path_of(name)),
        device,
        should_stop=lambda: False,
        on_checkpoint=lambda _: None,
        on_artifact=keep,
        times=SHORT,
    )
    return await runner.run(), artifacts


@pytest.mark.parametrize("name", PASSING)
async def test_a_flow_that_maestro_passes_is_done(name, demo_device):
    result, _ = await run(name, demo_device)
    assert (result.status, result.failure_reason) == ("done", None)
    assert result.steps_finished == result.steps_total
    assert not [warning for warning in result.warnings if "no effect" not in warning and "tried again" not in warning]


@pytest.mark.parametrize("name", FAILING)
async def test_a_flow_that_maestro_fails_fails_with_a_reason_that_names_the_step(name, demo_device):
    result, artifacts = await run(name, demo_device)
    assert (result.status, result.cause) == ("failed", "task")
    assert result.steps_finished == result.steps_total - 1
    for part in REASONS[name]:
        assert part in result.failure_reason
    assert artifacts["failure.png"].startswith(b"\x89PNG")
