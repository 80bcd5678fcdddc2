"""The example of a goal, over the real driver: a form of five fields is filled in and submitted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.flow.condition import parse_condition
from tests.workers.device.connected import connected
from workers.agent.budget import Limits
from workers.agent.model.script_planner import script_model
from workers.device.device import Device
from workers.phone.app.description import BUILT_IN_APPS, load_app
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer
from workers.run.goal import Goal
from workers.run.task_runner import TaskRunner

pytestmark = pytest.mark.anyio

SCRIPT = Path(__file__).parents[3] / "examples" / "goals" / "write_a_note.yaml"


@pytest.fixture
async def notes_phone(adb_server) -> AsyncIterator[PhoneServer]:
    async with connected(Phone("NOTES", apps=[load_app(BUILT_IN_APPS / "notes.yaml")]), adb_server) as phone:
        yield phone


async def test_a_form_of_five_fields_is_filled_in_submitted_and_verified(adb_server, notes_phone, tmp_path):
    device = Device(server=adb_server, transport_serial=notes_phone.address, may_touch=lambda: True)
    artifacts: dict[str, bytes] = {}

    async def keep(name: str, content: bytes, _media_type: str) -> None:
        artifacts[name] = content

    runner = TaskRunner(
        Goal("Write a note.", Limits(steps=10), verify=parse_condition('visible: "Latest: Count the waves"')),
        device,
        model=script_model(SCRIPT.read_text()),
        session_folder=tmp_path,
        should_stop=lambda: False,
        on_checkpoint=lambda _checkpoint: None,
        on_artifact=keep,
    )
    run = await runner.run()
    await device.close()
    assert (run.status, run.failure_reason) == ("done", None)
    assert run.result.verification is not None
    assert run.result.verification.holds
    typed = [
        line
        for line in artifacts["agent-session.jsonl"].decode().splitlines()
        if '"typed ' in line or "; typed" in line
    ]
    assert len(typed) == 5
