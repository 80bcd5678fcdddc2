import pytest

from corral.flow.errors import (
    FlowError,
    FlowFileMissing,
    FlowTooLarge,
    InvalidCommand,
    UndefinedVariable,
    UnknownCommand,
)
from corral.flow.parser import parse_flow, parse_flows

BACK = "appId: com.sub.app\n---\n- launchApp\n- back"


def running(path: str) -> str:
    return f"appId: com.main.app\n---\n- runFlow: {path}"


def test_a_file_is_found_relative_to_the_file_that_runs_it():
    files = {"flows/sub/a.yaml": running("../b.yaml"), "flows/b.yaml": running("sub/c.yaml"), "flows/sub/c.yaml": BACK}
    flow = parse_flow(running("sub/./a.yaml"), name="flows/main.yaml", files=files)
    a = flow.commands[0]
    assert (a.flow_file, a.commands[0].flow_file) == ("flows/sub/a.yaml", "flows/b.yaml")
    launch = a.commands[0].commands[0].commands[0]
    assert (launch.file, launch.line, launch.app_id) == ("flows/sub/c.yaml", 3, "com.sub.app")
    assert flow.steps_total == 5


def test_a_missing_file_is_named_with_those_that_were_submitted():
    with pytest.raises(FlowFileMissing) as caught:
        parse_flow(running("sub/logn.yaml"), files={"sub/login.yaml": BACK, "other.yaml": BACK})
    error = caught.value
    assert (error.line, error.command, error.suggestion) == (3, "runFlow", "sub/login.yaml")
    assert "`sub/logn.yaml` was not submitted; submitted were: other.yaml, sub/login.yaml" in error.message


@pytest.mark.parametrize("path", ["../x.yaml", "/etc/passwd", "sub/../../x.yaml", "..", "'.'", "a\\b.yaml", "''"])
def test_a_path_that_leads_out_is_refused(path):
    with pytest.raises(FlowFileMissing) as caught:
        parse_flow(running(path), files={"x.yaml": BACK})
    assert caught.value.line == 3


@pytest.mark.parametrize("path", ["../x.yaml", "/x.yaml", "", "a\\b"])
def test_a_submitted_path_that_leads_out_is_refused(path):
    with pytest.raises(FlowFileMissing):
        parse_flow(BACK, files={path: BACK})


def test_a_file_submitted_under_two_spellings_is_refused():
    with pytest.raises(FlowFileMissing, match="twice"):
        parse_flow(BACK, files={"a.yaml": BACK, "./a.yaml": BACK})


def test_a_flow_that_runs_itself_is_refused_with_the_way_round():
    with pytest.raises(InvalidCommand, match=r"a\.yaml → b\.yaml → a\.yaml"):
        parse_flow(running("a.yaml"), files={"a.yaml": running("b.yaml"), "b.yaml": running("a.yaml")})
    with pytest.raises(InvalidCommand, match="runs itself"):
        parse_flow(running("flow.yaml"), files={"flow.yaml": BACK})


def test_a_mistake_in_a_file_is_reported_there():
    with pytest.raises(UnknownCommand) as caught:
        parse_flow(running("a.yaml"), files={"a.yaml": "appId: a.b\n---\n- back\n- bakc"})
    assert (caught.value.file, caught.value.line, caught.value.suggestion) == ("a.yaml", 4, "back")


def test_a_retry_may_take_its_commands_from_a_file():
    flow = parse_flow("appId: a.b\n---\n- retry: {maxRetries: 2, file: a.yaml}", files={"a.yaml": BACK})
    assert (flow.commands[0].flow_file, flow.steps_total) == ("a.yaml", 3)


@pytest.mark.parametrize("fields", ["file: a.yaml, commands: [back]", "env: {A: x}", "file: [a]", "file: ~"])
def test_a_runflow_takes_either_a_file_or_commands(fields):
    with pytest.raises(FlowError) as caught:
        parse_flow(f"appId: a.b\n---\n- runFlow: {{{fields}}}", files={"a.yaml": BACK})
    assert (caught.value.command, caught.value.line) == ("runFlow", 3)


def test_each_of_the_written_flows_can_be_run_by_itself():
    flows = parse_flows({"sub/a.yaml": running("../b.yml"), "b.yml": BACK, "notes.txt": "no flow", "lib": BACK})
    assert {path: flow.steps_total for path, flow in flows.items()} == {"sub/a.yaml": 3, "b.yml": 2}


def test_a_written_flow_that_cannot_be_read_is_named():
    with pytest.raises(UnknownCommand) as caught:
        parse_flows({"a.yaml": BACK, "b.yaml": "appId: a.b\n---\n- back\n- bakc"})
    assert (caught.value.file, caught.value.line) == ("b.yaml", 4)


def test_a_part_that_gets_its_variables_from_another_flow_need_not_run_by_itself():
    part = "appId: a.b\n---\n- inputText: ${WHO}"
    caller = "appId: a.b\n---\n- runFlow: {file: part.yaml, env: {WHO: Ada}}"
    assert list(parse_flows({"part.yaml": part, "caller.yaml": caller})) == ["caller.yaml"]
    assert len(parse_flows({"part.yaml": part}, env={"WHO": "Ada"})) == 1
    with pytest.raises(UndefinedVariable):
        parse_flows({"part.yaml": part, "other.yaml": BACK})


def test_all_written_flows_together_hold_no_more_commands_than_one_may():
    long = "appId: a.b\n---\n" + "- back\n" * 3000
    assert len(parse_flows({"a.yaml": long})) == 1
    with pytest.raises(FlowTooLarge, match="counted with the files"):
        parse_flows({"a.yaml": long, "b.yaml": running("a.yaml")})
