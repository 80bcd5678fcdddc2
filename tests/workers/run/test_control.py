import pytest

from tests.workers.run.far_side import LOGIN, FarDevice, Run, actions_of, node, run, screen
from workers.device.actions import InputText
from workers.device.outcome import Done, ErrorCode, Failed, Unknown

pytestmark = pytest.mark.anyio

REFUSED = Failed(ErrorCode.COMMAND_FAILED, "no")


def typed(actions):
    return "".join(action.text for action in actions if isinstance(action, InputText))


async def test_a_condition_decides_whether_its_commands_run():
    text = (
        "- runFlow: {when: {visible: Login}, commands: [inputText: a]}\n"
        "- runFlow: {when: {visible: Logout}, commands: [inputText: b]}\n"
        "- runFlow: {when: {notVisible: Logout}, commands: [inputText: c]}\n"
        "- runFlow: {when: {notVisible: Login}, commands: [inputText: d]}\n"
        "- runFlow: {when: {visible: Login, notVisible: Logout}, commands: [inputText: e]}\n"
        "- runFlow: {when: {visible: Login, notVisible: Login}, commands: [inputText: f]}\n"
    )
    assert typed(await actions_of(text)) == "ace"


async def test_a_condition_waits_for_what_it_asks_for():
    text = "- runFlow: {when: {visible: Login}, commands: [inputText: a]}"
    assert typed(await actions_of(text, screen(), screen(LOGIN))) == "a"


async def test_skipped_commands_count_as_finished():
    made = Run("- runFlow: {when: {visible: Logout}, commands: [back, back]}\n- inputText: a", FarDevice())
    result = await made.end()
    assert (result.steps_total, result.steps_finished) == (4, 4)
    assert [checkpoint.step for checkpoint in made.checkpoints] == [1, 4, 4]


async def test_commands_are_repeated():
    text = "- repeat: {times: 2, commands: [{inputText: a}, {repeat: {times: 3, commands: [{inputText: b}]}}]}"
    made = Run(text, FarDevice())
    result = await made.end()
    assert typed(made.device.actions) == "abbbabbb"
    assert [checkpoint.step for checkpoint in made.checkpoints] == [*range(1, 12), 11]
    assert (result.steps_total, result.steps_finished) == (11, 11)


async def test_a_retry_begins_again_from_its_first_command_and_its_first_step():
    made = Run("- retry: {maxRetries: 2, commands: [{inputText: a}, {inputText: b}]}\n- back",
               FarDevice(outcomes=[Done(), REFUSED, REFUSED]))  # fmt: skip
    result = await made.end()
    assert typed(made.device.actions) == "abaab"
    assert [checkpoint.step for checkpoint in made.checkpoints] == [1, 2, 3, 2, 2, 3, 4, 4]
    assert result.status == "done"
    assert len(result.warnings) == 2
    assert "tried again" in result.warnings[0]


async def test_a_retry_that_never_works_fails_with_the_last_reason():
    result = await run("- retry: {maxRetries: 3, commands: [back]}", FarDevice(outcomes=[REFUSED] * 9))
    assert result.status == "failed"
    assert result.failure_reason.startswith("step 2 of 2 (flow.yaml:3, back): no (command_failed)")


async def test_nothing_is_retried_when_nobody_knows_whether_it_happened():
    device = FarDevice(outcomes=[Unknown(ErrorCode.TIMEOUT, "no answer")])
    result = await run("- retry: {maxRetries: 3, commands: [back]}", device)
    assert (result.status, result.cause, len(device.actions)) == ("failed", "task", 1)
    assert "it may have happened all the same, so it was not repeated" in result.failure_reason


@pytest.mark.parametrize("outcome", [Failed, Unknown])
@pytest.mark.parametrize("text", ["- retry: {maxRetries: 3, commands: [back]}", "- back: {optional: true}", "- back"])
async def test_a_device_that_is_gone_is_infrastructure_and_neither_retried_nor_excused(outcome, text):
    device = FarDevice(outcomes=[outcome(ErrorCode.DEVICE_OFFLINE, "gone")])
    result = await run(text, device)
    assert (result.status, result.cause, len(device.actions)) == ("failed", "infrastructure", 1)
    assert device.pictures == 0


async def test_an_optional_step_that_fails_is_a_warning():
    device = FarDevice(outcomes=[REFUSED, Unknown(ErrorCode.TIMEOUT, "no answer")])
    result = await run("- back: {optional: true}\n- back: {optional: true, label: Close it}\n- back", device)
    assert result.status == "done"
    assert "step 1 of 3 (flow.yaml:3, back): optional, and failed: no (command_failed)" in result.warnings
    assert any("Close it" in warning and "not repeated" in warning for warning in result.warnings)


async def test_an_optional_block_that_fails_leaves_the_rest_to_go_on():
    text = "- runFlow: {optional: true, commands: [{tapOn: Logout}, back, back]}\n- inputText: a"
    made = Run(text, FarDevice())
    result = await made.end()
    assert (result.status, typed(made.device.actions), result.steps_finished) == ("done", "a", 5)
    assert [checkpoint.step for checkpoint in made.checkpoints] == [1, 2, 5, 5]


async def test_an_optional_lookup_has_less_time():
    result = await run("- tapOn: {text: Logout, optional: true}\n- tapOn: Logout")
    assert "within 0.05 s" in result.warnings[0]
    assert "within 0.1 s" in result.failure_reason


async def test_warnings_have_an_end():
    result = await run(
        "- repeat: {times: 60, commands: [{back: {optional: true}}]}", FarDevice(outcomes=[REFUSED] * 60)
    )
    assert len(result.warnings) == 51
    assert result.warnings[-1] == "and 10 more warnings"


async def test_what_the_flow_warns_of_is_part_of_the_result():
    result = await run("- launchApp: {permissions: {all: deny}}")
    assert result.warnings == ("flow.yaml:3: launchApp: `permissions` is accepted and has no effect",)


async def test_a_failure_names_step_place_command_and_label_and_leaves_a_picture():
    made = Run("- back\n- tapOn:\n    text: Logout\n    label: Log out\n", FarDevice(screen(node("Welcome"))))
    result = await made.end()
    assert result.failure_reason.startswith("step 2 of 2 (flow.yaml:4, Log out): no element")
    assert (result.cause, result.steps_finished, result.artifacts) == ("task", 1, ("failure.png",))
    last = made.checkpoints[-1]
    assert (last.step, last.status, last.text) == (1, "failed", result.failure_reason)


async def test_a_run_tells_before_each_step_what_comes_and_at_its_end_how_it_ended():
    made = Run("- back\n- tapOn: Login\n", FarDevice())
    await made.end()
    assert [(point.step, point.steps_total, point.text, point.status) for point in made.checkpoints] == [
        (1, 2, "back", "running"),
        (2, 2, 'tapOn text "Login"', "running"),
        (2, 2, "flow.yaml", "done"),
    ]


async def test_a_failure_stays_what_it_is_when_its_picture_cannot_be_stored():
    async def refuse(name, content, media_type):
        raise OSError("disk full")

    result = await run("- tapOn: Logout", on_artifact=refuse)
    assert "no element" in result.failure_reason
    assert any("disk full" in warning for warning in result.warnings)


async def test_a_long_reason_is_cut():
    parts = ", ".join(side + ": " + "x" * 480 for side in ("text", "id", "below", "above", "leftOf"))
    result = await run(f"- tapOn: {{{parts}}}")
    assert len(result.failure_reason) == 2_000
