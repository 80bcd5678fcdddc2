"""Goals over the whole system: reached and verified, and cancelled while the model is speaking."""

import json
from uuid import UUID

from corral.contract.cancellation import CancellationOutcome, StoppedBy
from corral.contract.goals import AgentOptions
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import Requirement
from tests.journeys.conftest import Site
from tests.journeys.lab import LEASE_SECONDS, Lab, actions_after, eventually
from tests.journeys.slow_model import NAME

HOST = Requirement(label="host", value="rack-a")
OTHER_HOST = Requirement(label="host", value="rack-b")

SCRIPT = """
- calls:
    - launch_app: {package: dev.corral.notes}
    - tap: {target: {text: Counter}}
    - tap: {target: {text: More}}
    - observe
- calls:
    - finish: {status: success, message: It says one.}
"""


def log_of(lab: Lab, task_id: UUID) -> list[dict]:
    return [json.loads(line) for line in lab.corral.download_artifact(task_id, "agent-session.jsonl").splitlines()]


def test_a_goal_is_reached_and_its_claim_verified_and_its_log_kept(lab: Lab) -> None:
    options = {"agent": AgentOptions(script=SCRIPT), "requires": [HOST]}
    done = lab.ended(lab.corral.submit(goal="Count to one.", verify='{visible: "1"}', **options).task_id)
    assert done.status is TaskStatus.DONE, done.failure_reason
    assert (done.result["claim"]["status"], done.result["verification"]["holds"]) == ("success", True)
    assert log_of(lab, done.task_id)[-1]["end"]["kind"] == "completed"
    assert done.progress.steps_total is None
    assert done.progress.step == 2


def test_a_goal_is_cancelled_while_its_model_speaks(site: Site) -> None:
    lab, model = site.lab, site.model
    task_id = lab.corral.submit(goal="Think about it.", agent=AgentOptions(model=NAME)).task_id
    eventually(lambda: model.words_sent > 5, what="the model speaks")
    assert lab.corral.get(task_id).host_id is not None
    lab.corral.cancel(task_id, reason="thought enough")
    task = lab.ended(task_id)
    story = task.cancellation
    assert (task.status, story.outcome, story.stopped_by, story.confirmed) == (
        TaskStatus.CANCELLED,
        CancellationOutcome.CANCELLED,
        StoppedBy.AGENT,
        True,
    )
    assert (task.finished_at - story.requested_at).total_seconds() < LEASE_SECONDS / 3 + 2
    assert actions_after(site.phones["rack-a"], story.seen_at.timestamp()) == []
    assert model.hung_up.wait(1), "the connection to the model is closed"
    assert log_of(lab, task_id)[-1] == {"event": "turn/end", "turn": 1, "end": {"kind": "aborted"}}
    assert "thought enough" not in str(log_of(lab, task_id))


def test_a_goal_that_needs_a_model_waits_where_no_host_has_one(lab: Lab) -> None:
    task_id = lab.corral.submit(goal="Think.", requires=[OTHER_HOST]).task_id
    eventually(lambda: "agent" in (lab.corral.get(task_id).waiting_reason or ""), what="a reason to wait")
    lab.corral.cancel(task_id)
    assert lab.ended(task_id).status is TaskStatus.CANCELLED
