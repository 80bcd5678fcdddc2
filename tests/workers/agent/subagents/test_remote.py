import asyncio
import json
import sys
from pathlib import Path

import psutil
import pytest

from tests.workers.agent.subagents.scripts import FinishTool, Moves, call, finish, last_end, results
from workers.agent.agent import Agent
from workers.agent.budget import Limits
from workers.agent.hooks import Approval
from workers.agent.subagents import remote_process
from workers.agent.subagents.remote import AskAgent
from workers.agent.subagents.remote_agent import RemoteAgent

FAR_AGENT = Path(__file__).with_name("far_agent.py")
ASK = call("ask_agent", goal="What is the capital of France?")


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _ends_fast(monkeypatch):
    monkeypatch.setattr(remote_process, "END_SECONDS", 0.2)


pytestmark = pytest.mark.anyio


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.01)


class Asking:
    """A parent with the tool, whose remote agent behaves as it is told."""

    def __init__(self, tmp_path, behaviour, *, limits=None, cancel_seconds=10.0, command=None):
        self.log = tmp_path / "heard.jsonl"
        command = command or (sys.executable, str(FAR_AGENT), behaviour, str(self.log))
        remote = RemoteAgent("far", command, folder=tmp_path)
        self.model = Moves(agent=[ASK, finish()])
        tools = (AskAgent(remote, cancel_seconds=cancel_seconds), FinishTool())
        self.agent = Agent(self.model, tools=tools, limits=limits)

    async def run(self):
        async with asyncio.timeout(20):
            outcome = await self.agent.prompt("Find out.").outcome()
            await self.agent.dispose()
        return outcome

    @property
    def said(self):
        return next(m.text for m in self.agent.session.messages if m.role == "tool")

    @property
    def result(self):
        return results(self.agent)[0]

    def heard(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    async def until_heard(self, method):
        await until(lambda: any(message.get("method") == method for message in self.heard()))


async def test_a_remote_agent_is_asked_and_its_words_come_back(tmp_path):
    asking = Asking(tmp_path, "answers")
    spent = []

    async def note(agent, _place, _signal):
        spent.append(agent.turn.budget.tokens_used)

    asking.agent.hooks.turn_end.add(note)
    assert (await asking.run()).kind == "completed"
    assert asking.result == ("ask_agent", "done", None)
    assert asking.said == "Agent far says: I was asked: What is the capital of France?"
    assert spent == [27]
    [begin, *_] = asking.heard()
    assert "clientCapabilities" not in begin["params"]


async def test_a_cancel_is_the_protocols_own_and_its_last_answer_is_waited_for(tmp_path):
    asking = Asking(tmp_path, "waits")
    prompt = asking.agent.prompt("Find out.")
    await asking.until_heard("session/prompt")
    asking.agent.cancel()
    outcome = await prompt.outcome()
    assert outcome.kind == "aborted"
    assert [message["method"] for message in asking.heard()][-1] == "session/cancel"
    assert asking.result == ("ask_agent", "aborted", "aborted")
    assert asking.said == "Agent far was cancelled. Its last words: I am thinking no more."
    assert last_end(asking.agent) == {"kind": "aborted"}
    await asking.agent.dispose()


async def test_an_agent_that_never_answers_a_cancel_is_ended_with_all_that_it_started(tmp_path):
    asking = Asking(tmp_path, "is deaf", cancel_seconds=0.2)
    prompt = asking.agent.prompt("Find out.")
    await until((tmp_path / "pids").exists)
    asking.agent.cancel()
    async with asyncio.timeout(10):
        assert (await prompt.outcome()).kind == "aborted"
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    await until(lambda: not any(_is_running(pid) for pid in pids))
    await asking.agent.dispose()


async def test_a_cancel_before_the_agent_has_begun_ends_its_process(tmp_path):
    asking = Asking(tmp_path, "never begins")
    prompt = asking.agent.prompt("Find out.")
    await asking.until_heard("initialize")
    await asking.agent.dispose()
    assert (await prompt.outcome()).kind == "disposed"
    assert asking.result == ("ask_agent", "aborted", "aborted")


async def test_the_end_of_the_time_stops_it_like_a_cancel(tmp_path):
    asking = Asking(tmp_path, "waits", limits=Limits(wall_seconds=0.5))
    outcome = await asking.run()
    assert (outcome.kind, outcome.budget) == ("budget_exceeded", "wall_time")
    assert asking.result == ("ask_agent", "failed", "subagent_failed")
    assert "the time of this run was over" in asking.said
    assert asking.heard()[-1]["method"] == "session/cancel"


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("dies", "ended before it had answered. Its last words: Oh"),
        ("errs", "answered with an error: No model today."),
        ("talks nonsense", "ended before it had answered."),
        ("max_tokens", "ended without a result: it ran out of tokens."),
        ("max_turn_requests", "ended without a result: it made as many requests"),
        ("refusal", "ended without a result: it refused."),
        ("cancels by itself", "ended without a result: it was cancelled, and not by us."),
        ("gibberish", "answered with an error:"),
    ],
)
async def test_an_agent_that_brings_no_answer_is_a_failed_call_that_says_why(tmp_path, behaviour, words):
    asking = Asking(tmp_path, behaviour)
    assert (await asking.run()).kind == "completed"
    assert asking.result == ("ask_agent", "failed", "subagent_failed")
    assert words in asking.said


async def test_a_command_that_cannot_be_run_is_named(tmp_path):
    asking = Asking(tmp_path, "", command=("no-such-agent", "--acp"))
    await asking.run()
    assert asking.result == ("ask_agent", "failed", "subagent_failed")
    assert "`no-such-agent` cannot be started: No such file or directory" in asking.said


@pytest.mark.parametrize(("decision", "chosen"), [(True, "once"), (False, "no"), (None, "no")])
async def test_its_permissions_are_ours_to_give_each_time_and_refused_by_default(tmp_path, decision, chosen):
    asking = Asking(tmp_path, "asks permission")
    asked = []

    async def decide(_agent, _place, tool_call, _signal, after):
        if tool_call.tool == "ask_agent":
            return await after(tool_call)
        asked.append((tool_call.tool, tool_call.arguments))
        return await after(tool_call) if decision is None else Approval(is_granted=decision)

    asking.agent.hooks.approval.add(decide)
    await asking.run()
    assert asked == [("far: rm -rf", {"path": "/"})]
    assert json.loads(asking.said.partition("says: ")[2]) == {"outcome": "selected", "optionId": chosen}


async def test_a_pending_permission_is_answered_as_cancelled_at_a_cancel(tmp_path):
    asking = Asking(tmp_path, "asks permission")
    pending = asyncio.Event()

    async def decide(_agent, _place, tool_call, signal, after):
        if tool_call.tool != "ask_agent":
            pending.set()
            await signal.wait()
        return await after(tool_call)

    asking.agent.hooks.approval.add(decide)
    prompt = asking.agent.prompt("Find out.")
    await pending.wait()
    asking.agent.cancel()
    assert (await prompt.outcome()).kind == "aborted"
    assert {"outcome": {"outcome": "cancelled"}} in [message.get("result") for message in asking.heard()]
    await asking.agent.dispose()


async def test_files_and_terminals_are_refused_by_name(tmp_path):
    asking = Asking(tmp_path, "asks for files and terminals")
    await asking.run()
    errors = json.loads(asking.said.partition("says: ")[2])
    assert {error["code"] for error in errors} == {-32601}
    assert [error["message"].split(" ")[0] for error in errors] == [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/release",
        "terminal/wait_for_exit",
        "terminal/kill",
    ]


async def test_it_gets_none_of_our_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    command = ("sh", "-c", f"env > {tmp_path}/env; exit 1")
    await Asking(tmp_path, "", command=command).run()
    assert "sk-ours" not in (tmp_path / "env").read_text()


def _is_running(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
