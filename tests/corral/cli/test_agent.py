import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager

import acp
import pytest

from corral.folder_lock import take_folder
from tests.workers.agent.acp.client import Editor
from workers.agent.session.reading import read_session

NOTE = """
- say: I open the notes.
  calls:
    - launch_app: {package: dev.corral.notes}
    - observe
- say: They are open.
  calls:
    - finish: {status: success, message: The notes are open.}
- repeat: 1000
  steps:
    - say: I am thinking about it for a very long time.
      seconds: 20
- say: Never said.
"""


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _keeps_our_logs(monkeypatch):
    """Those that run in this process configure the logs of the process."""
    monkeypatch.setattr("corral.logs.configure_logs", lambda **_: None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --model NAME or --script PATH"),
        (("--model", "openai:gpt-5", "--script", "x.yaml"), "give either --model NAME or --script PATH"),
        (("--script", "nowhere.yaml"), "nowhere.yaml"),
        (("--model", "gpt-5"), "no model is named `gpt-5`"),
        (("--model", "compatible:x"), "needs the URL of its endpoint"),
        (("--model", "compatible:x", "--app", "x.yaml"), "--app belongs to --device emulated"),
        (("--model", "compatible:x", "--adb-port", "5037"), "belongs to the adb that people use by hand"),
        (("--model", "compatible:x", "--ask", "=x"), "is not NAME=COMMAND"),
        (("--model", "compatible:x", "--ask", "far"), "is not NAME=COMMAND"),
        (("--model", "compatible:x", "--ask", "far='x"), "No closing quotation"),
        (("--model", "compatible:x", "--secrets-file", "nowhere.toml"), "nowhere.toml cannot be read"),
    ],
)
def test_what_cannot_be_served_is_wrong_usage(corral, arguments, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    ran = corral("agent", "acp", *arguments)
    assert ran.code == 2
    assert words in ran.err
    assert ran.out == ""


def test_a_broken_script_is_named_with_its_line(corral, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("- say: Hm.\n  calls: {}\n")
    ran = corral("agent", "acp", "--script", str(script))
    assert ran.code == 2
    assert "line 2" in ran.err


def test_two_at_once_do_not_fight_for_the_phones(corral, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text(NOTE)
    with take_folder(tmp_path):
        ran = corral("agent", "acp", "--script", str(script), "--state-dir", str(tmp_path))
    assert ran.code == 1
    assert f"(process {os.getpid()}) has the phones of this machine" in " ".join(ran.err.split())


@asynccontextmanager
async def spawned(*arguments, environment=None):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "corral", "agent", "acp", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | (environment or {}),
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.anyio
async def test_an_editor_prompts_cancels_and_goes_away(tmp_path):
    script, sessions = tmp_path / "script.yaml", tmp_path / "sessions"
    script.write_text(NOTE)
    where = ("--device", "emulated", "--script", str(script), "--session-folder", str(sessions))
    async with spawned(*where, "--state-dir", str(tmp_path / "state")) as process:
        editor = Editor()
        connection = acp.connect_to_agent(editor, process.stdin, process.stdout)
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = (await connection.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        response = await connection.prompt(session_id=session, prompt=[acp.text_block("Open the notes.")])
        assert response.stop_reason == "end_turn"
        assert [asked.title for asked in editor.asked] == ["launch_app package=dev.corral.notes"]
        assert editor.said().endswith("The notes are open.")
        assert any(kind == "completed" and "Notes" in text for kind, text in editor.told())

        prompting = asyncio.create_task(
            connection.prompt(session_id=session, prompt=[acp.text_block("Think about it.")])
        )
        await editor.until(lambda: "thinking about" in editor.said())
        await connection.cancel(session_id=session)
        assert (await prompting).stop_reason == "cancelled"

        process.stdin.close()
        # Signals that come after the end of its input leave its end in order.
        while process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.02)
        errors = (await process.stderr.read()).decode()
        await connection.close()
    assert process.returncode == 0, errors
    assert "agent.serving" in errors
    assert "Traceback" not in errors
    [log] = sessions.glob("*.jsonl")
    ends = [event.end.kind for event in read_session(log) if event.event == "turn/end"]
    assert ends == ["completed", "aborted"]
    # With a made-up phone there is no key to keep.
    assert not (tmp_path / "state" / "adb").exists()


@pytest.mark.anyio
async def test_a_signal_ends_it_in_order_and_stdout_has_the_protocol_alone(tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("- {say: I think., seconds: 60}\n")
    async with spawned(*("--device", "emulated", "--script", str(script), "--state-dir", str(tmp_path))) as process:

        async def told(**message):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\nnonsense\n")
            while True:
                line = json.loads(await process.stdout.readline())
                if line.get("id") == message["id"]:
                    return line

        session = (await told(id=1, method="session/new", params={"cwd": "/", "mcpServers": []}))["result"]["sessionId"]
        blocks = [{"type": "text", "text": "Think."}]
        prompting = asyncio.create_task(
            told(id=2, method="session/prompt", params={"sessionId": session, "prompt": blocks})
        )
        [log] = [path for path in (tmp_path / "sessions").iterdir() if path.suffix == ".jsonl"]
        while "step/start" not in log.read_text():  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert (await prompting)["result"] == {"stopReason": "cancelled"}
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert read_session(log)[-1].end.kind == "aborted"


@pytest.mark.anyio
async def test_input_that_no_client_can_be_behind_is_wrong_usage(tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text(NOTE)
    options = f"--device emulated --script {script} --state-dir {tmp_path}"
    process = await asyncio.create_subprocess_shell(
        f"exec {sys.executable} -m corral agent acp {options} < /dev/null",
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, errors = await process.communicate()
    assert process.returncode == 2, errors.decode()
    assert "pipes, sockets or a terminal" in errors.decode()
    assert "Traceback" not in errors.decode()
