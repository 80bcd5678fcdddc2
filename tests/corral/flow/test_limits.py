import pytest

from corral.flow.errors import FlowTooLarge
from corral.flow.limits import MAX_COMMAND_NESTING, MAX_STEPS
from corral.flow.parser import parse_flow
from tests.corral.flow.writing import flow, refusal


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("- back\n- scroll", 2),
        ("- repeat: {times: 3, commands: [back, scroll]}", 7),
        ("- retry: {maxRetries: 3, commands: [back, scroll]}", 3),
        ("- runFlow: {when: {visible: A}, commands: [back]}\n- back", 3),
        ("- repeat: {times: 10, commands: [{repeat: {times: 10, commands: [back]}}]}", 111),
    ],
)
def test_steps_are_counted_with_what_is_repeated(text, steps):
    assert flow(text).steps_total == steps


def test_a_flow_at_the_limit_of_steps_is_accepted_and_one_beyond_is_not():
    assert flow("- back\n" * MAX_STEPS).steps_total == MAX_STEPS
    assert isinstance(refusal("- back\n" * (MAX_STEPS + 1)), FlowTooLarge)
    assert flow(f"- repeat: {{times: {MAX_STEPS - 1}, commands: [back]}}").steps_total == MAX_STEPS
    assert isinstance(refusal(f"- repeat: {{times: {MAX_STEPS}, commands: [back]}}"), FlowTooLarge)


def nested(depth: int, times: int) -> str:
    return "".join(f"{{repeat: {{times: {times}, commands: [" for _ in range(depth)) + "back" + "]}}" * depth


def test_repeats_inside_repeats_are_multiplied_and_never_written_out():
    assert isinstance(refusal(f"- {nested(MAX_COMMAND_NESTING, MAX_STEPS)}"), FlowTooLarge)


def test_commands_inside_each_other_have_a_limit():
    assert flow(f"- {nested(MAX_COMMAND_NESTING, 1)}").steps_total == MAX_COMMAND_NESTING + 1
    assert "inside each other" in refusal(f"- {nested(MAX_COMMAND_NESTING + 1, 1)}").message


def test_files_that_run_each_other_many_times_end_at_the_limit():
    files = {f"{level}.yaml": "appId: a.b\n---\n" + f"- runFlow: {level + 1}.yaml\n" * 50 for level in range(10)}
    files["10.yaml"] = "appId: a.b\n---\n- back"
    with pytest.raises(FlowTooLarge):
        parse_flow("appId: a.b\n---\n- runFlow: 0.yaml", files=files)
