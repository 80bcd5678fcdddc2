"""What becomes of a goal: the agent's end, the stop of the run, and what was verified, each with its own word."""

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from corral.flow.condition import parse_condition
from corral.flow.parser import parse_flow
from tests.workers.run.far_side import SHORT, FarDevice, StopSwitch, unreadable
from workers.agent.budget import Limits
from workers.agent.messages import AssistantMessage, TextPart, ToolCall
from workers.agent.model.interface import Answer, ModelErrorCode, ModelFailed, Usage
from workers.agent.model.scripted import ScriptedModel
from workers.agent.outcome import TurnOutcome
from workers.agent.session.session import LogUnwritable
from workers.agent.task_secrets import Secrets
from workers.device.outcome import ErrorCode, Failed
from workers.run.goal import Goal, GoalRun
from workers.run.goal_ending import ending_of
from workers.run.stop import CANCELLATION_REASON, Stop
from workers.run.task_runner import TaskRunner

pytestmark = pytest.mark.anyio

FINISH = {"finish": {"status": "success", "message": "It is there."}}
TAPS = "appId: com.example.app\n---\n- repeat: {times: 50, commands: [{tapOn: Login}]}\n"
TAP = {"tap": {"target": {"text": "Login"}}}


def answer(*calls: dict, text: str = "") -> Answer:
    parts = [TextPart(text=text)] if text else []
    for number, call in enumerate(calls):
        ((tool, arguments),) = call.items()
        parts.append(ToolCall(call_id=f"{tool}-{number}", tool=tool, arguments=arguments))
    return Answer(AssistantMessage(parts=tuple(parts)), Usage(10, 1))


class Pursuit:
    """One run of a goal, with all that it told. `answers` are given in turn; an exception is raised instead."""

    def __init__(self, tmp_path, *answers, device=None, switch=None, verify=None, flows=None, limits=None, **more):
        self.answers = list(answers)
        self.device = device or FarDevice()
        self.requests = []
        self.checkpoints = []
        self.artifacts: dict[str, bytes] = {}
        self.asked = asyncio.Event()
        self.on_artifact = lambda: None
        goal = Goal(
            "Log in.",
            limits or Limits(steps=20),
            verify=parse_condition(verify) if verify else None,
            flows={name: parse_flow(text, name=name) for name, text in (flows or {}).items()},
        )
        self.runner = TaskRunner(
            goal,
            self.device,
            model=ScriptedModel(self._generate),
            session_folder=tmp_path,
            times=SHORT,
            on_checkpoint=self.checkpoints.append,
            on_artifact=self._keep,
            **((switch or StopSwitch()).keywords() | more),
        )

    async def _generate(self, request, signal, _on_delta) -> Answer:
        self.requests.append(request)
        self.asked.set()
        if not self.answers:
            await signal.wait()
            return Answer(AssistantMessage(parts=(TextPart(text="I thi"),), is_interrupted=True), Usage())
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    async def _keep(self, name, content, _media_type) -> None:
        self.artifacts[name] = content
        self.on_artifact()

    async def end(self) -> GoalRun:
        async with asyncio.timeout(20):
            return await self.runner.run()

    def log(self) -> list[dict]:
        return [json.loads(line) for line in self.artifacts["agent-session.jsonl"].splitlines()]


async def test_a_goal_that_the_agent_reaches_is_done_with_its_claim_and_its_log(tmp_path):
    pursuit = Pursuit(tmp_path, answer(TAP, text="I tap."), answer({"note": {"text": "One button"}}), answer(FINISH))
    run = await pursuit.end()
    assert (run.status, run.cause, run.failure_reason) == ("done", None, None)
    assert run.result.claim.message == "It is there."
    assert run.result.verification is None
    assert (run.result.steps, run.result.usage.input_tokens, run.result.usage.output_tokens) == (3, 30, 3)
    assert run.result.notes == ["One button"]
    assert run.result.artifacts == ["agent-session.jsonl"]
    assert pursuit.log()[-1]["end"]["kind"] == "completed"
    assert [checkpoint.status for checkpoint in pursuit.checkpoints][-1] == "done"
    assert "I tap." in [checkpoint.text for checkpoint in pursuit.checkpoints]


async def test_a_claim_is_verified_on_the_screen_and_both_are_kept_apart(tmp_path):
    run = await Pursuit(tmp_path, answer(FINISH), verify="visible: Login").end()
    assert (run.status, run.result.claim.status, run.result.verification.holds) == ("done", "success", True)


async def test_a_claim_that_does_not_hold_is_a_failure_of_the_task(tmp_path):
    run = await Pursuit(tmp_path, answer(FINISH), verify="visible: Welcome").end()
    assert (run.status, run.cause, run.result.claim.status) == ("failed", "task", "success")
    assert run.result.verification.holds is False
    assert run.failure_reason == 'the agent claims success, but this does not hold: visible text "Welcome"'
    assert '; the screen shows "Login"' in run.result.verification.reason


async def test_what_the_screen_shows_instead_is_told_without_secrets(tmp_path):
    secrets = Secrets({"PIN": "Login"})
    run = await Pursuit(tmp_path, answer(FINISH), verify="visible: Welcome", secrets=secrets).end()
    assert '; the screen shows "[secret PIN]"' in run.result.verification.reason


async def test_where_nobody_can_tell_whether_a_claim_holds_it_is_no_success(tmp_path):
    lost = FarDevice(unreadable(ErrorCode.DEVICE_OFFLINE))
    run = await Pursuit(tmp_path, answer(FINISH), verify="visible: Login", device=lost).end()
    assert (run.status, run.cause, run.result.verification.holds) == ("failed", "infrastructure", None)


@pytest.mark.parametrize("status", ["failure", "infeasible"])
async def test_an_agent_that_gives_up_fails_the_task_in_its_own_words(tmp_path, status):
    run = await Pursuit(tmp_path, answer({"finish": {"status": status, "message": "No such door."}})).end()
    assert (run.status, run.cause) == ("failed", "task")
    assert run.failure_reason == f"the agent gave up ({status}): No such door."


async def test_an_agent_that_just_stops_is_reminded_to_finish(tmp_path):
    pursuit = Pursuit(tmp_path, answer(text="All good."), answer(FINISH))
    assert (await pursuit.end()).status == "done"
    assert "without calling `finish`" in pursuit.requests[1].messages[-1].text


async def test_an_agent_that_never_finishes_has_not_succeeded(tmp_path):
    run = await Pursuit(tmp_path, *[answer(text="All good.")] * 3).end()
    assert (run.status, run.cause) == ("failed", "task")
    assert run.failure_reason == "the agent ended without saying whether the goal is reached"


async def test_a_cancel_interrupts_the_thought_and_nothing_is_done_afterwards(tmp_path):
    switch = StopSwitch(CANCELLATION_REASON)
    pursuit = Pursuit(tmp_path, answer(TAP), switch=switch)
    running = asyncio.create_task(pursuit.end())
    while len(pursuit.requests) < 2:  # noqa: ASYNC110  the second request hangs until the signal fires
        await asyncio.sleep(0)
    done = len(pursuit.device.actions)
    switch.press()
    run = await running
    assert (run.status, run.cause) == ("cancelled", None)
    assert run.failure_reason == f"{CANCELLATION_REASON}: stopped in step 2"
    assert (run.result.turn_end, run.result.claim) == ("aborted", None)
    assert len(pursuit.device.actions) == done
    assert pursuit.log()[-1] == {"event": "turn/end", "turn": 1, "end": {"kind": "aborted"}}
    assert CANCELLATION_REASON not in pursuit.artifacts["agent-session.jsonl"].decode()


@pytest.mark.parametrize("reason", ["lease rejected by control plane", "host shut down"])
async def test_any_other_stop_disposes_of_the_agent_and_fails_as_infrastructure(tmp_path, reason):
    switch = StopSwitch(reason)
    pursuit = Pursuit(tmp_path, switch=switch)
    running = asyncio.create_task(pursuit.end())
    await pursuit.asked.wait()
    switch.press()
    run = await running
    assert (run.status, run.cause, run.result.turn_end) == ("failed", "infrastructure", "aborted")
    assert run.failure_reason == f"{reason}: stopped in step 1"


async def test_a_stop_that_sets_no_event_is_noticed_all_the_same(tmp_path):
    stops = []
    pursuit = Pursuit(tmp_path, should_stop=lambda: bool(stops), stop_reason=lambda: CANCELLATION_REASON, stopped=None)
    running = asyncio.create_task(pursuit.end())
    await pursuit.asked.wait()
    stops.append(True)
    assert (await running).status == "cancelled"


async def test_a_run_that_is_stopped_before_its_first_step_asks_no_model(tmp_path):
    switch = StopSwitch(CANCELLATION_REASON)
    switch.press()
    pursuit = Pursuit(tmp_path, switch=switch)
    run = await pursuit.end()
    assert (run.status, run.result.steps, pursuit.requests) == ("cancelled", 0, [])
    assert run.failure_reason == f"{CANCELLATION_REASON}: stopped before its first step"


async def test_a_cancel_while_the_result_is_verified_ends_the_wait(tmp_path):
    switch = StopSwitch(CANCELLATION_REASON)
    device = FarDevice()
    device.on_look = switch.press
    run = await Pursuit(tmp_path, answer(FINISH), verify="visible: Welcome", device=device, switch=switch).end()
    assert (run.status, run.result.claim.status, run.result.verification) == ("cancelled", "success", None)
    assert run.failure_reason.endswith("stopped while its result was verified")


async def test_success_that_was_claimed_before_the_cancel_was_seen_stays_success(tmp_path):
    switch = StopSwitch(CANCELLATION_REASON)
    pursuit = Pursuit(tmp_path, answer(FINISH), switch=switch)
    # The log is handed out when the agent has ended.
    pursuit.on_artifact = switch.press
    assert (await pursuit.end()).status == "done"
    assert switch.event.is_set()


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (ModelErrorCode.RATE_LIMITED, "infrastructure"),
        (ModelErrorCode.UNAVAILABLE, "infrastructure"),
        (ModelErrorCode.AUTH, "infrastructure"),
        (ModelErrorCode.REFUSED, "task"),
        (ModelErrorCode.EMPTY, "task"),
    ],
)
async def test_a_model_that_gives_no_answer_is_never_a_success(tmp_path, code, cause):
    run = await Pursuit(tmp_path, ModelFailed(code, "no answer")).end()
    assert (run.status, run.cause, run.failure_reason) == ("failed", cause, f"no answer ({code})")


async def test_a_defect_of_the_agent_is_no_fault_of_the_goal(tmp_path):
    with capture_logs() as logged:
        run = await Pursuit(tmp_path, ZeroDivisionError("of ours")).end()
    assert [entry["event"] for entry in logged] == ["agent.turn_failed"]
    reason = "a defect of the agent: ZeroDivisionError (defect)"
    assert (run.status, run.cause, run.failure_reason) == ("failed", "infrastructure", reason)


def test_a_log_that_cannot_be_written_is_no_fault_of_the_goal():
    outcome = TurnOutcome("failed", code=LogUnwritable.code, message="the log cannot be written")
    ending = ending_of(outcome, Stop(lambda: False), step=1)
    assert (ending.status, ending.cause) == ("failed", "infrastructure")


async def test_a_device_that_is_gone_ends_the_run_as_infrastructure(tmp_path):
    device = FarDevice(outcomes=[Failed(ErrorCode.DEVICE_OFFLINE, "the phone is offline")])
    pursuit = Pursuit(tmp_path, answer(TAP), device=device)
    run = await pursuit.end()
    assert (run.status, run.cause) == ("failed", "infrastructure")
    assert "device_offline" in run.failure_reason
    assert len(pursuit.requests) == 1


async def test_a_budget_that_runs_out_fails_the_task_by_its_name(tmp_path):
    run = await Pursuit(tmp_path, *[answer({"observe": {}})] * 3, limits=Limits(steps=2)).end()
    assert (run.status, run.cause, run.result.turn_end) == ("failed", "task", "budget_exceeded")
    assert run.failure_reason == "the agent's budget ran out (steps): its 2 steps were used up"


async def test_the_same_tap_again_and_again_ends_as_stuck(tmp_path):
    pursuit = Pursuit(tmp_path, *[answer(TAP)] * 6)
    run = await pursuit.end()
    assert (run.status, run.cause, run.result.turn_end) == ("failed", "task", "stuck")
    assert len(pursuit.device.actions) == 5
    assert "Do something else" in pursuit.requests[3].messages[-1].text


async def test_the_agent_runs_a_written_flow_and_must_look_again_afterwards(tmp_path):
    flow = "appId: com.example.app\n---\n- tapOn: Login\n- takeScreenshot: seen\n"
    stale = {"tap": {"target": {"index": 0, "observation_id": "o-1"}}}
    pursuit = Pursuit(
        tmp_path,
        answer({"observe": {}}, {"run_flow": {"path": "login.yaml"}}, stale),
        answer({"run_flow": {"path": "away.yaml"}}),
        answer(FINISH),
        flows={"login.yaml": flow},
    )
    run = await pursuit.end()
    assert run.status == "done"
    assert set(pursuit.artifacts) == {"seen.png", "agent-session.jsonl"}
    results = [message for message in pursuit.requests[2].messages if message.role == "tool"]
    assert [(message.tool, message.status, message.code) for message in results] == [
        ("observe", "done", None),
        ("run_flow", "done", None),
        ("tap", "failed", "stale_observation"),
        ("run_flow", "failed", "unknown_flow"),
    ]


async def test_a_flow_of_the_agent_stops_under_the_signal_of_the_turn(tmp_path):
    switch = StopSwitch(CANCELLATION_REASON)
    device = FarDevice()
    device.on_action = switch.press
    pursuit = Pursuit(
        tmp_path,
        answer({"run_flow": {"path": "taps.yaml"}}),
        flows={"taps.yaml": TAPS},
        device=device,
        switch=switch,
    )
    run = await pursuit.end()
    assert run.status == "cancelled"
    assert len(device.actions) == 1
    (result,) = [event["message"] for event in pursuit.log() if event.get("message", {}).get("role") == "tool"]
    assert (result["status"], result["code"]) == ("aborted", "aborted")


async def test_a_secret_is_typed_and_appears_nowhere_else(tmp_path):
    pursuit = Pursuit(
        tmp_path,
        answer({"input_text": {"secret": "PIN"}}, text="The pin may be 90210-secret."),
        answer(FINISH),
        secrets=Secrets({"PIN": "90210-secret"}),
    )
    run = await pursuit.end()
    assert "90210-secret" in repr(pursuit.device.actions)
    told = [run.result.model_dump_json(), str(pursuit.checkpoints), str(pursuit.requests)]
    told += [content.decode() for content in pursuit.artifacts.values()]
    assert not any("90210-secret" in text for text in told)
    assert "[secret PIN]" in pursuit.artifacts["agent-session.jsonl"].decode()


async def test_a_part_of_the_goal_goes_to_a_child_whose_log_is_kept_beside(tmp_path):
    spawn = {"spawn_agent": {"goal": "Tap the login button.", "name": "tapper"}}
    tapped = {"finish": {"status": "success", "message": "Tapped."}}
    pursuit = Pursuit(tmp_path, answer(spawn), answer(TAP), answer(tapped), answer(FINISH))
    run = await pursuit.end()
    assert (run.status, run.result.steps, len(pursuit.device.actions)) == ("done", 2, 1)
    assert run.result.artifacts == ["agent-session-1.jsonl", "agent-session.jsonl"]
    assert (run.result.usage.input_tokens, run.result.usage.output_tokens) == (40, 4)


async def test_a_failure_that_our_own_stop_brought_about_ends_as_the_stop_says(tmp_path):
    stops: list[str] = []
    device = FarDevice(outcomes=[Failed(ErrorCode.LEASE_LOST, "the lease is lost")])
    device.on_action = lambda _number: stops.append("lease rejected by control plane")
    pursuit = Pursuit(
        tmp_path,
        answer(TAP),
        device=device,
        should_stop=lambda: bool(stops),
        stop_reason=lambda: stops[0],
        stopped=None,
    )
    run = await pursuit.end()
    assert (run.status, run.cause) == ("failed", "infrastructure")
    assert run.failure_reason.startswith("lease rejected by control plane: stopped in step 1, which failed: ")


async def test_a_phone_that_is_lost_to_a_flow_is_lost_to_the_agent(tmp_path):
    device = FarDevice(outcomes=[Failed(ErrorCode.DEVICE_OFFLINE, "the phone is offline")])
    run_flow = {"run_flow": {"path": "taps.yaml"}}
    pursuit = Pursuit(tmp_path, answer(run_flow), flows={"taps.yaml": TAPS}, device=device)
    run = await pursuit.end()
    assert (run.status, run.cause, len(pursuit.requests)) == ("failed", "infrastructure", 1)
