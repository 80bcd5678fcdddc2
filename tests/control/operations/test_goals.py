"""A goal on its way to a host that can run it."""

from typing import Any
from uuid import UUID

from corral.contract.goals import AgentView
from corral.contract.task_status import TaskStatus
from tests.control.fleet import Fleet

SCRIPT = "- calls:\n    - finish: {status: success, message: Done.}\n"


def submit_goal(fleet: Fleet, **more: Any) -> UUID:
    return fleet.submit(kind="goal", flow=None, goal="Write a note.", **more)


def test_a_host_gets_the_whole_goal(fleet: Fleet) -> None:
    host = fleet.host()
    host.beat(labels={"agent": "openai:gpt-5"}, supported_commands=["goal"])
    agent = {"model": "openai:gpt-5", "secrets": ["PIN"], "max_steps": 9, "max_tokens": 5000}
    task_id = submit_goal(fleet, verify="visible: Saved", agent=agent, files={"a.yaml": "appId: a.b\n---\n- back"})
    assert fleet.assign() == 1
    assignment = host.claim()
    assert assignment is not None
    assert (assignment.kind, assignment.goal, assignment.verify) == ("goal", "Write a note.", "visible: Saved")
    assert assignment.agent == AgentView.model_validate(agent)
    assert (assignment.flow, list(assignment.files)) == (None, ["a.yaml"])
    shown = fleet.show(task_id)
    assert (shown.goal, shown.verify, shown.agent) == (assignment.goal, assignment.verify, assignment.agent)


def test_a_goal_waits_for_a_host_with_its_model(fleet: Fleet) -> None:
    host = fleet.host()
    host.beat(labels={"agent": "anthropic:claude"}, supported_commands=["goal"])
    task_id = submit_goal(fleet, agent={"model": "openai:gpt-5"})
    assert fleet.assign() == 0
    assert fleet.show(task_id).waiting_reason == (
        "none of the 1 known devices has what the task requires: agent=openai:gpt-5; "
        "`agent` is the model that the device's host has for goals"
    )
    submit_goal(fleet)
    assert fleet.assign() == 1


def test_a_scripted_goal_needs_no_model_and_no_host_that_cannot_run_it(fleet: Fleet) -> None:
    host = fleet.host()
    host.beat(supported_commands=["back"])
    task_id = submit_goal(fleet, agent={"script": SCRIPT})
    assert fleet.assign() == 0
    assert "`goals` have the devices whose host runs goals" in (fleet.show(task_id).waiting_reason or "")
    host.beat(supported_commands=["back", "goal"])
    assert fleet.assign() == 1
    assert fleet.show(task_id).status is TaskStatus.ASSIGNED
