"""What a submission of a goal may say."""

from typing import Any

import pytest
from pydantic import ValidationError

from corral.contract.goals import AgentOptions, AgentView, GoalResult
from corral.contract.host_protocol import Assignment
from corral.contract.tasks import TaskSubmission

GOAL: dict[str, Any] = {"kind": "goal", "goal": "Write a note."}
FLOW: dict[str, Any] = {"kind": "flow", "flow": "appId: a.b"}


@pytest.mark.parametrize(
    ("submission", "said"),
    [
        ({"kind": "goal"}, "kind 'goal' needs the goal"),
        ({**GOAL, "goal": " \n"}, "kind 'goal' needs the goal"),
        ({**GOAL, "goal": "x" * 20_001}, "at most 20000"),
        ({**GOAL, "flow": "appId: a.b"}, "kind 'goal' takes no `flow`"),
        ({**FLOW, "goal": "Write."}, "kind 'flow' takes no `goal`"),
        ({**FLOW, "verify": "visible: A"}, "kind 'flow' takes no `verify`"),
        ({**FLOW, "agent": {}}, "kind 'flow' takes no `agent`"),
        ({**GOAL, "agent": {"model": "openai:gpt-5", "script": "- say: Hi"}}, "`model` or `script`, not both"),
        ({**GOAL, "agent": {"secrets": ["not a name"]}}, "secrets"),
        ({**GOAL, "agent": {"max_tokens": 999}}, "max_tokens"),
        ({**GOAL, "agent": {"max_steps": 1001}}, "max_steps"),
        ({**GOAL, "agent": {"budget": 7}}, "budget"),
    ],
)
def test_a_goal_and_a_flow_take_what_belongs_to_them(submission: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TaskSubmission.model_validate(submission)
    assert said in str(caught.value)


def test_answers_carry_every_option_of_an_agent_with_the_same_default() -> None:
    assert AgentView().model_dump() == AgentOptions().model_dump()


def test_an_older_host_reads_the_options_of_a_newer_control_plane() -> None:
    assignment = {
        "task_id": "01900000-0000-7000-8000-000000000000",
        "attempt": 1,
        "lease_id": "01900000-0000-7000-8000-000000000001",
        "lease_expires_at": "2030-01-01T00:00:00Z",
        "lease_remaining_ms": 30_000,
        "lease_seconds": 30,
        "cancel_requested": False,
        "device_serial": "PHONE1",
        **GOAL,
        "agent": {"max_steps": 5000, "mood": "cheerful"},
    }
    agent = Assignment.model_validate(assignment).agent
    assert agent is not None
    assert agent.max_steps == 5000


def test_the_result_of_a_goal_is_read_tolerantly() -> None:
    assert GoalResult.model_validate({"claim": {"status": "shrugged", "tone": "dry"}, "steps": 3}).steps == 3
