"""What a goal is called, and what its device must have."""

from typing import Any

import pytest

from control.domain.submission import checked
from corral.contract.tasks import TaskSubmission


def goal(text: str = "Write a note.", **more: Any) -> TaskSubmission:
    return TaskSubmission.model_validate({"kind": "goal", "goal": text, **more})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Write a note.", "Write a note."),
        ("\n  Write a note. \nIt says hello.", "Write a note."),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_a_goal_without_a_name_is_called_by_its_first_line(text: str, name: str) -> None:
    assert checked(goal(text)).name == name
    assert checked(goal(text, name="Nightly")).name == "Nightly"


@pytest.mark.parametrize(
    ("more", "requires"),
    [
        ({}, ["agent exists None"]),
        ({"agent": {"max_steps": 9}}, ["agent exists None"]),
        ({"agent": {"model": "openai:gpt-5"}}, ["agent eq openai:gpt-5"]),
        ({"agent": {"script": "- say: Done."}}, ["goals exists None"]),
        ({"requires": [{"label": "sim", "op": "exists"}]}, ["sim exists None", "agent exists None"]),
        ({"requires": [{"label": "agent", "op": "in", "value": ["a", "b"]}]}, ["agent in ['a', 'b']"]),
        ({"agent": {"script": "- say: Done."}, "requires": [{"label": "goals", "value": "yes"}]}, ["goals eq yes"]),
        ({"agent": {"model": "a"}, "requires": [{"label": "agent", "value": "a"}]}, ["agent eq a"]),
        ({"agent": {"model": "a"}, "requires": [{"label": "agent", "value": "b"}]}, ["agent eq b", "agent eq a"]),
    ],
)
def test_a_goal_goes_where_its_agent_finds_what_it_needs(more: dict[str, Any], requires: list[str]) -> None:
    assert [f"{one.label} {one.op} {one.value}" for one in checked(goal(**more)).requires] == requires


def test_a_flow_requires_what_it_was_submitted_with() -> None:
    flow = TaskSubmission.model_validate({"kind": "flow", "flow": "appId: a.b\n---\n- back"})
    assert checked(flow).requires == []
