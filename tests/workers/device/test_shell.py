"""How a call to a phone can end."""

import asyncio
import time

import pytest

from tests.workers.device.waiting import is_listed, until
from workers.device.command_line import command, in_sequence
from workers.device.outcome import ErrorCode, Failed, Unknown
from workers.device.shell import Shell, ShellOutput
from workers.phone.adbd.connection import LinkState
from workers.phone.faults import Fault, FaultKind

pytestmark = pytest.mark.anyio

CHANGE = command("settings", "put", "system", "screen_brightness", "7")
LOOK = command("getprop", "ro.serialno")


@pytest.fixture
def shell(adb_server, served) -> Shell:
    return Shell(lambda: adb_server.port, served.address, lambda: True)


async def change(shell, *, deadline_seconds=5.0):
    return await asyncio.to_thread(shell.run, CHANGE, changes_device=True, deadline_seconds=deadline_seconds)


async def look(shell, line=LOOK, **limits):
    return await asyncio.to_thread(shell.ask, line, **limits)


async def test_an_answer_has_both_outputs_and_the_exit_code(shell):
    answer = await look(shell, in_sequence([command("echo", "seen"), command("cat", "/missing")]))
    assert isinstance(answer, ShellOutput)
    assert answer.stdout == b"seen\n"
    assert b"/missing" in answer.stderr
    assert answer.exit_code == 1


@pytest.mark.parametrize("text", ["a b", "$HOME", "`id`", "'", '"', "; reboot", "a\\b", "&& x", "*", "#x", "é"])
async def test_every_argument_arrives_as_it_is(shell, text):
    assert (await look(shell, command("echo", text))).stdout.decode() == text + "\n"


async def test_a_change_whose_answer_was_lost_is_unknown(shell, phone):
    phone.faults.add(Fault(FaultKind.DROP, match="settings put*", after=True))
    assert isinstance(outcome := await change(shell), Unknown)
    assert outcome.code is ErrorCode.TRANSPORT_LOST
    assert phone.settings["system", "screen_brightness"] == "7"


async def test_a_look_whose_answer_was_lost_has_failed(shell, phone):
    phone.faults.add(Fault(FaultKind.DROP, match="getprop*"))
    assert isinstance(outcome := await look(shell), Failed)
    assert outcome.code is ErrorCode.TRANSPORT_LOST


async def test_a_hanging_change_is_unknown_at_its_deadline(shell, phone):
    phone.faults.add(Fault(FaultKind.HANG, match="settings put*"))
    started = time.monotonic()
    assert isinstance(outcome := await change(shell, deadline_seconds=0.3), Unknown)
    assert outcome.code is ErrorCode.TIMEOUT
    assert 0.3 <= time.monotonic() - started < 1.0


async def test_a_trickling_command_ends_at_the_total_deadline(shell, phone):
    phone.faults.add(Fault(FaultKind.TRICKLE, match="getprop*", delay_ms=20))
    started = time.monotonic()
    assert await look(shell, deadline_seconds=0.4) == Failed(
        ErrorCode.TIMEOUT, "the answer was lost: no answer within 0.4 s"
    )
    assert time.monotonic() - started < 1.0


async def test_a_refused_service_counts_as_lost_because_nobody_can_tell(shell, phone):
    phone.faults.add(Fault(FaultKind.REFUSE, match="shell,v2*"))
    assert isinstance(await change(shell), Unknown)


async def test_an_answer_beyond_the_limit_has_failed(shell):
    assert isinstance(outcome := await look(shell, command("echo", "x" * 500), max_output_bytes=100), Failed)
    assert "longer than 100 bytes" in outcome.message


async def test_a_command_beyond_the_limit_is_never_sent(shell, phone):
    assert isinstance(outcome := await look(shell, command("echo", "x" * 70_000)), Failed)
    assert "65535 are allowed" in outcome.message
    assert phone.log.commands() == []


async def test_an_unauthorized_phone_is_recognised_before_anything_is_sent(shell, adb_server, phone, served):
    phone.link_state = LinkState.UNAUTHORIZED
    await until(lambda: is_listed(adb_server, served.address, "unauthorized"))
    assert isinstance(outcome := await change(shell), Failed)
    assert outcome.code is ErrorCode.DEVICE_UNAUTHORIZED
    assert outcome.code.is_infrastructure


async def test_a_phone_that_is_not_connected_is_offline_before_anything_is_sent(adb_server):
    shell = Shell(lambda: adb_server.port, "127.0.0.1:1", lambda: True)
    assert isinstance(outcome := await change(shell), Failed)
    assert outcome.code is ErrorCode.DEVICE_OFFLINE
    assert "127.0.0.1:1" in outcome.message


async def test_without_an_adb_server_the_transport_is_lost_before_anything_is_sent():
    shell = Shell(lambda: 1, "PHONE", lambda: True)
    assert isinstance(outcome := await change(shell), Failed)
    assert outcome.code is ErrorCode.TRANSPORT_LOST


async def test_a_phone_that_went_away_answers_again_when_it_is_back(shell, adb_server, served):
    served.drop_connections()
    answers = []

    async def is_back():
        answers.append(await look(shell))
        return isinstance(answers[-1], ShellOutput)

    await until(is_back)
    assert {answer.code for answer in answers[:-1]} <= {ErrorCode.DEVICE_OFFLINE, ErrorCode.TRANSPORT_LOST}


async def test_nothing_is_sent_when_the_device_may_not_be_touched(adb_server, served, phone):
    shell = Shell(lambda: adb_server.port, served.address, lambda: False)
    assert isinstance(outcome := await change(shell), Failed)
    assert outcome.code is ErrorCode.LEASE_LOST
    assert phone.log.commands() == []
