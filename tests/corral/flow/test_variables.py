import pytest

from corral.flow.errors import InvalidCommand, UndefinedVariable
from corral.flow.limits import MAX_SCALAR_CHARACTERS, MAX_VARIABLES
from corral.flow.parser import parse_flow
from tests.corral.flow.writing import command, flow, refusal


def texts(source, **keywords):
    return [read.text for read in parse_flow(source, **keywords).commands]


def test_a_name_is_replaced_wherever_it_stands_and_its_value_is_not_looked_at_again():
    assert command("- inputText: a${X}b${ X }", env={"X": "${Y}"}).text == "a${Y}b${Y}"
    assert command("- eraseText: ${N}", env={"N": "7"}).characters == 7
    assert command("- tapOn: {id: '${X}', label: 'Tap ${X}'}", env={"X": "ok"}).label == "Tap ok"


def test_an_escaped_name_stays():
    assert command(r"- inputText: \${X}").text == "${X}"


def test_a_name_without_value_is_an_error_that_names_it_and_those_that_have_one():
    error = refusal("- back\n- inputText: ${USER_NAM}", env={"USER_NAME": "a", "OTHER": "b"})
    assert isinstance(error, UndefinedVariable)
    assert (error.line, error.command, error.suggestion) == (4, "inputText", "USER_NAME")
    assert error.allowed == ("OTHER", "USER_NAME")


def test_what_is_submitted_wins_over_the_header():
    source = "appId: a.b\nenv: {A: header, B: header}\n---\n- inputText: ${A}\n- inputText: ${B}"
    assert texts(source, env={"A": "submitted"}) == ["submitted", "header"]


def test_values_of_a_header_may_use_earlier_and_submitted_names():
    source = "appId: ${APP}.x\nenv: {A: '${APP}', B: '${A}!'}\n---\n- inputText: ${B}"
    assert texts(source, env={"APP": "com.a"}) == ["com.a!"]
    with pytest.raises(UndefinedVariable):
        parse_flow("appId: a.b\nenv: {B: '${A}', A: x}\n---\n- back")


def test_a_runflow_passes_names_to_what_it_holds_and_to_nothing_else():
    text = "- runFlow:\n    env: {A: inner}\n    commands:\n    - inputText: ${A}\n- inputText: ${A}"
    run, after = flow(text, env={"A": "outer"}).commands
    assert (run.commands[0].text, after.text) == ("inner", "outer")


def test_a_file_takes_what_is_passed_before_its_own_defaults_and_those_before_the_callers():
    sub = "appId: a.b\nenv: {A: sub, B: sub, C: sub}\n---\n- inputText: ${A} ${B} ${C} ${D}"
    source = "appId: a.b\nenv: {C: main, D: main}\n---\n- runFlow: {file: sub.yaml, env: {A: passed}}"
    run = parse_flow(source, files={"sub.yaml": sub}, env={"B": "submitted"}).commands[0]
    assert run.commands[0].text == "passed submitted sub main"


@pytest.mark.parametrize(
    "env",
    [
        {"1A": "x"},
        {"a b": "x"},
        {"": "x"},
        {"true": "x"},
        {"A": "x\0"},
        {"A": "x" * (MAX_SCALAR_CHARACTERS + 1)},
        {f"A{n}": "x" for n in range(MAX_VARIABLES + 1)},
    ],
)
def test_a_submitted_value_that_cannot_be_a_variable_is_refused(env):
    with pytest.raises(InvalidCommand):
        parse_flow("appId: a.b\n---\n- back", env=env)
