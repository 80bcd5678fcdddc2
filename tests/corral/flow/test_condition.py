"""A condition by itself, as the end of a goal is verified."""

import pytest

from corral.flow.condition import parse_condition
from corral.flow.errors import FlowError, InvalidCommand, InvalidYaml, UndefinedVariable, UnsupportedExpression


def test_a_condition_is_written_like_the_when_of_a_run_flow():
    condition = parse_condition("visible: ${WHO}\nnotVisible:\n  id: error\n", env={"WHO": "Ada"})
    assert condition.describe() == 'visible text "Ada", not visible id error'


@pytest.mark.parametrize(
    ("source", "error", "line"),
    [
        ("", InvalidYaml, None),
        ("visible: A\n---\nvisible: B", InvalidYaml, None),
        ("visible: [", InvalidYaml, 2),
        ("Saved", InvalidCommand, 1),
        ("- visible: A", InvalidCommand, 1),
        ("{}", InvalidCommand, 1),
        ("visible: A\nplatform: Android", InvalidCommand, 2),
        ("visible: A\nvisbel: B", InvalidCommand, 2),
        ("true: ${x > 1}", UnsupportedExpression, 1),
        ("visible: A\nnotVisible: ${WHO}", UndefinedVariable, 2),
    ],
)
def test_what_is_no_condition_is_refused_with_its_line(source: str, error: type[FlowError], line: int | None):
    with pytest.raises(error) as caught:
        parse_condition(source)
    assert (caught.value.file, caught.value.line) == ("verify", line)


def test_the_fields_that_a_condition_can_have_are_named():
    with pytest.raises(InvalidCommand) as caught:
        parse_condition("visbel: A")
    assert (caught.value.allowed, caught.value.suggestion) == (("notVisible", "visible"), "visible")
