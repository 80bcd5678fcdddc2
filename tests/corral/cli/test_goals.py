from pathlib import Path
from typing import Any

import pytest

from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import TASK_ID, FakeApi, event, problem, task

FLOW = "appId: com.example\n---\n- back\n"
SCRIPT = "- say: I look.\n"
PATH = f"/v1/tasks/{TASK_ID}"
RESULT: dict[str, Any] = {
    "claim": {"status": "success", "message": "I saved it.", "output": {"title": "Hello"}},
    "verification": {"condition": 'visible "Saved"', "holds": False, "reason": "it is not on the screen"},
    "steps": 4,
    "usage": {"input_tokens": 12_000, "output_tokens": 340},
    "model": "openai:gpt-5",
    "turn_end": "completed",
    "notes": ["two pages"],
    "artifacts": [],
}


@pytest.fixture
def submitted(of_api: Corral, api: FakeApi) -> Corral:
    api.answer("POST", "/v1/tasks", (201, task(kind="goal")))
    return of_api


def test_a_goal_needs_no_more_than_its_sentence(submitted: Corral, api: FakeApi) -> None:
    ran = submitted("submit", "--goal", "Write a note.")
    assert (ran.code, ran.out.strip(), ran.err) == (0, TASK_ID, "")
    assert api.requests[0].body == {
        "kind": "goal",
        "goal": "Write a note.",
        "files": {},
        "env": {},
        "labels": {},
        "requires": [],
        "priority": 0,
        "max_attempts": 2,
    }


def test_options_become_fields_of_the_goal(submitted: Corral, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "open.yaml").write_text(FLOW)
    (tmp_path / "main.yaml").write_text("appId: a.b\n---\n- runFlow: steps/open.yaml\n")
    submitted(
        *("submit", "--goal", "Write a note.", "--name", "Night run", "--verify", "visible: Saved"),
        *("--model", "openai:gpt-5", "--secret", "PIN", "--secret", "TOKEN", "--max-steps", "9"),
        *("--max-tokens", "5000", "--file", str(tmp_path / "main.yaml"), "--timeout", "60", "--env", "WHO=Ada"),
    )
    [request] = api.requests
    assert request.body["agent"] == {
        "model": "openai:gpt-5",
        "secrets": ["PIN", "TOKEN"],
        "max_steps": 9,
        "max_tokens": 5000,
    }
    assert sorted(request.body["files"]) == ["main.yaml", "steps/open.yaml"]
    assert [request.body[name] for name in ("name", "verify", "timeout_seconds")] == ["Night run", "visible: Saved", 60]
    assert request.body["env"] == {"WHO": "Ada"}


def test_script_and_condition_can_be_files(submitted: Corral, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    (tmp_path / "saved.yaml").write_text("visible: Saved\n")
    submitted(
        *("submit", "--goal", "Write a note.", "--script", str(tmp_path / "script.yaml")),
        *("--verify-file", str(tmp_path / "saved.yaml")),
    )
    assert api.requests[0].body["agent"]["script"] == SCRIPT
    assert api.requests[0].body["verify"] == "visible: Saved\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name the FILE of a flow, or give a --goal"),
        (("a.yaml", "--goal", "Write."), "give a flow (a.yaml) or --goal, not both"),
        (("a.yaml", "--verify", "visible: A"), "--verify belongs to --goal"),
        (("a.yaml", "--max-steps", "7"), "--max-steps belongs to --goal"),
        (("a.yaml", "--file", "b.yaml"), "--file belongs to --goal"),
        (("--goal", ""), "--goal: is empty"),
        (("--goal", " "), "the task: kind 'goal' needs the goal in plain words"),
        (("--goal", "Write.", "--verify", "visible: A", "--verify-file", "b"), "--verify or --verify-file, not both"),
        (("--goal", "Write.", "--model", "m", "--script", "gone.yaml"), "--model or --script, not both"),
        (("--goal", "Write.", "--script", "gone.yaml"), "there is no file gone.yaml"),
        (("--goal", "Write.", "--file", "gone.yaml"), "there is no file gone.yaml"),
        (("--goal", "x" * 20_001), "--goal: has more than 20,000 characters"),
        (("--goal", "Write.", "--max-steps", "0"), "--max-steps: needs 1 or more"),
        (("--goal", "Write.", "--max-steps", "1001"), "--max-steps: needs 1,000 or less"),
        (("--goal", "Write.", "--env", "a-b=c"), "--env a-b: a name begins with a letter or _"),
        (("--goal", "Write.", "--label", "a b=c"), "--label a b: a name begins with a letter or a digit"),
        (("--goal", "Write.", "--max-tokens", "9"), "--max-tokens: needs 1,000 or more"),
        (("--goal", "Write.", "--secret", "no name"), "--secret 'no name': a name begins with a letter or _"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    of_api: Corral, api: FakeApi, arguments: tuple[str, ...], told: str
) -> None:
    ran = of_api("submit", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert api.requests == []


def test_two_flows_of_one_name_are_not_mixed_up(submitted: Corral, api: FakeApi, tmp_path: Path) -> None:
    for folder, content in (("a", FLOW), ("b", FLOW), ("c", FLOW + "- back\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log_in.yaml").write_text(content)
    a, b, c = (("--file", str(tmp_path / folder / "log_in.yaml")) for folder in "abc")
    assert submitted("submit", "--goal", "Write.", *a, *b).code == 0
    ran = submitted("submit", "--goal", "Write.", *a, *c)
    assert (ran.code, "another file is called log_in.yaml" in ran.err) == (2, True)


def test_what_the_api_says_of_a_goal_is_told_as_it_is(of_api: Corral, api: FakeApi) -> None:
    errors = [{"location": "body.verify", "message": "unknown field `visibel`"}]
    refused = problem(
        "invalid_flow", 422, "verify:1: unknown field `visibel`", errors=errors, context={"file": "verify"}
    )
    api.answer("POST", "/v1/tasks", (422, refused))
    ran = of_api("submit", "--goal", "Write.", "--verify", "visibel: A")
    assert (ran.code, "verify:1: unknown field `visibel`" in ran.err) == (4, True)


@pytest.mark.parametrize(
    ("option", "code", "detail"),
    [
        ("--script", "invalid_request", "the script of the agent: line 2, step 1: unknown field `call`"),
        ("--verify-file", "invalid_flow", "verify:2: unknown field `visibel`"),
    ],
)
def test_what_is_wrong_in_a_file_of_a_goal_is_told_with_its_path(
    of_api: Corral, api: FakeApi, tmp_path: Path, option: str, code: str, detail: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("- call: observe\n")
    api.answer("POST", "/v1/tasks", *[(422, problem(code, 422, detail))] * 2)
    ran = of_api("submit", "--goal", "Write.", option, str(path))
    assert ran.code == 4
    assert f"{path}:{detail.partition(':')[2]}" in ran.err.replace("\n", "")
    assert detail in of_api("submit", "--goal", "Write.", option, str(path), "--json").err


def test_show_tells_claim_and_verification_apart(of_api: Corral, api: FakeApi) -> None:
    goal = {
        "kind": "goal",
        "goal": "Write a note.\nIt says hello.",
        "verify": "visible: Saved",
        "agent": {"secrets": ["PIN"], "max_tokens": 20_000},
    }
    api.answer("GET", PATH, (200, task("failed", **goal, result=RESULT)))
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": []}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": []}))
    shown = [" ".join(line.split()) for line in of_api("show", TASK_ID).out.splitlines()]
    for line in (
        "goal Write a note.",
        "It says hello.",
        "to be verified visible: Saved",
        "model openai:gpt-5",
        "secrets PIN",
        "budget 50 steps, 20,000 tokens",
        "agent says success: I saved it.",
        'output {"title": "Hello"}',
        'verified no: visible "Saved" (it is not on the screen)',
        "used 4 steps, 12,000 tokens in, 340 out",
    ):
        assert line in shown


def test_one_step_is_one(of_api: Corral, api: FakeApi) -> None:
    changes = {"kind": "goal", "goal": "Look.", "agent": {"max_steps": 1}, "result": {**RESULT, "steps": 1}}
    api.answer("GET", PATH, (200, task("failed", **changes)))
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": []}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": []}))
    shown = [" ".join(line.split()) for line in of_api("show", TASK_ID).out.splitlines()]
    assert {"budget 1 step", "used 1 step, 12,000 tokens in, 340 out"} <= set(shown)


@pytest.mark.parametrize("result", [None, {"claim": "not one that we know"}])
def test_a_goal_without_a_readable_result_is_shown_without(
    of_api: Corral, api: FakeApi, result: dict[str, Any] | None
) -> None:
    agent = {"script": SCRIPT}
    api.answer("GET", PATH, (200, task("dispatched", kind="goal", goal="Write.", agent=agent, result=result)))
    api.answer("GET", f"{PATH}/attempts", (200, {"attempts": []}))
    api.answer("GET", f"{PATH}/artifacts", (200, {"artifacts": []}))
    ran = of_api("show", TASK_ID)
    assert ran.code == 0
    assert "none, plays a script" in ran.out
    assert "agent says" not in ran.out


def test_watch_ends_with_what_the_agent_says_and_what_was_verified(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", PATH, (200, task("failed", kind="goal", failure_reason="not verified", result=RESULT)))
    api.answer("GET", f"{PATH}/events", (200, {"events": [event(1, "task.failed")]}))
    ran = of_api("watch", TASK_ID)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "failed after 12.0 s: not verified",
        "agent says: success: I saved it.",
        'output: {"title": "Hello"}',
        'verified: no: visible "Saved" (it is not on the screen)',
    ]
